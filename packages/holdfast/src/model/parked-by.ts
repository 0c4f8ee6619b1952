/**
 * Which code has parked a run since the run last made progress: identities of code (32 hexadecimal digits each), the latest
 * first, separated by blanks; null if no code can help, or the run was not parked; or that a person has paused it. The text is also the key by which a store
 * finds runs that other code has parked: what the code itself parked last begins with its identity.
 */
export type ParkedBy = string | null;

/** The maximum length of the list: this many deployments without any progress need a person. */
export const PARKERS_MAX = 8;

/** In place of the list: a person has paused the run. Sorts behind every identity, so no code finds it. */
export const BY_A_PERSON = "paused";

/** The list with this code in front. */
export function withParker(parkedBy: ParkedBy, code: string): string {
  const others = (parkedBy ?? "").split(" ").filter((other) => other !== "" && other !== code);
  return [code, ...others].slice(0, PARKERS_MAX).join(" ");
}

/**
 * Code takes up a run only if it has not parked it itself: so two versions that live side by side cannot pass it back and
 * forth forever.
 */
export function mayTakeUp(parkedBy: ParkedBy, code: string): boolean {
  return parkedBy !== null && parkedBy !== BY_A_PERSON && !parkedBy.includes(code);
}
