import type { Finding } from "../../model/finding.ts";

/** Something that stays wrong is told again after this time. */
export const REPEAT_MS = 60 * 60 * 1000;

/** What is known to be wrong, and what has been done about it. */
export interface KnownFinding {
  /** The same for as long as it stays wrong. */
  readonly id: string;
  finding: Finding;
  /** When it was last found. */
  foundAt: number;
  /** When it was last told; undefined: never. */
  toldAt: number | undefined;
  /** Whether the action of its rule was carried out. */
  acted: boolean;
}

/** What one rule has found. */
export class KnownFindings {
  readonly #newId: () => string;
  #known = new Map<string, KnownFinding>();

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  /**
   * Takes in what the rule finds now; returns what it has found before, and finds no longer. What comes and goes by its nature has come
   * right only when it has not been found for `lingerMs`.
   */
  update(
    findings: readonly Finding[],
    now: number,
    lingerMs = 0,
  ): { readonly firing: readonly KnownFinding[]; readonly resolved: readonly KnownFinding[] } {
    const before = this.#known;
    const firing = findings.map((finding): KnownFinding => {
      const known = before.get(finding.key);
      return { id: known?.id ?? this.#newId(), toldAt: undefined, acted: false, ...known, finding, foundAt: now };
    });
    this.#known = new Map(firing.map((known) => [known.finding.key, known]));
    const missing = [...before].filter(([key]) => !this.#known.has(key));
    const resolved: KnownFinding[] = [];
    for (const [key, known] of missing) {
      if (now - known.foundAt < lingerMs) this.#known.set(key, known);
      else resolved.push(known);
    }
    return { firing, resolved };
  }

  /** Takes it out; undefined if it is not known. */
  drop(key: string): KnownFinding | undefined {
    const known = this.#known.get(key);
    this.#known.delete(key);
    return known;
  }

  clear(): void {
    this.#known.clear();
  }
}

/** Whether to tell it: for the first time, or again. */
export function isToTell({ toldAt }: KnownFinding, now: number): boolean {
  return toldAt === undefined || now - toldAt >= REPEAT_MS;
}
