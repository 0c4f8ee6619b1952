/** A version as far as the choice is concerned. */
export interface ChoosableVersion {
  readonly version: string;
  readonly share: number;
  /** Stores may keep it as a number. */
  readonly isDefault: boolean | number;
}

/**
 * The version that a start gets: its own if it leaves no choice (`pick` null), otherwise the one whose share is above
 * `pick`, otherwise the default, otherwise its own. `versions` is called only when needed.
 */
export function chooseVersion(own: string, pick: number | null, versions: () => readonly ChoosableVersion[]): string {
  if (pick === null) return own;
  const known = versions();
  const chosen = known.find(({ share }) => share > pick) ?? known.find(({ isDefault }) => Boolean(isDefault));
  return chosen?.version ?? own;
}
