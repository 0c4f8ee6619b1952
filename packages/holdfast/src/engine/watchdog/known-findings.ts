import type { Finding } from "../../model/finding.ts";

/** Something that stays wrong is told again after this time. */
export const REPEAT_MS = 60 * 60 * 1000;

/** What is known to be wrong, and what has been done about it. */
export interface KnownFinding {
  /** The same for as long as it stays wrong. */
  readonly id: string;
  finding: Finding;
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

  /** Takes in what the rule finds now; returns what it has found before, and finds no longer. */
  update(findings: readonly Finding[]): {
    readonly firing: readonly KnownFinding[];
    readonly resolved: readonly KnownFinding[];
  } {
    const before = this.#known;
    this.#known = new Map(
      findings.map((finding) => {
        const known = before.get(finding.key) ?? { id: this.#newId(), finding, toldAt: undefined, acted: false };
        known.finding = finding;
        return [finding.key, known];
      }),
    );
    const resolved = [...before].filter(([key]) => !this.#known.has(key)).map(([, known]) => known);
    return { firing: [...this.#known.values()], resolved };
  }

  clear(): void {
    this.#known.clear();
  }
}

/** Whether to tell it: for the first time, or again. */
export function isToTell({ toldAt }: KnownFinding, now: number): boolean {
  return toldAt === undefined || now - toldAt >= REPEAT_MS;
}
