/** Where two runs part, in words. */
import type { ComparedOp, Comparison } from "../../../src/api/api-messages.ts";

/** One sentence for the top of the page. `from` is the index of the first row that is here. */
export function describeParting(
  { rows, parts, total }: Pick<Comparison, "rows" | "parts" | "total">,
  from = 0,
): string {
  if (total === 0) return "Neither has done anything yet.";
  if (parts === null) return "They do the same, with the same results.";
  const row = rows[parts - from];
  if (!row) return `They part at row ${parts + 1}.`;
  return `They part at ${row.op}: ${differenceText(row)}.`;
}

/** How the sides of a row differ, in words; empty: they do not. */
export function differenceText({ a, b, differs }: ComparedOp): string {
  if (a === null) return "only B does it";
  if (b === null) return "only A does it";
  const words = differs.flatMap((what) => {
    if (what === "status") return [`${a.status} in A, ${b.status} in B`];
    if (what === "result") return ["another result"];
    if (what === "input") return ["another input"];
    return what === "attempts" ? [`${a.attempts} and ${b.attempts} attempts`] : [];
  });
  return words.join(", ");
}

/** More attempts lead to the same result: they are told, and not a parting. */
export function isParting({ a, b, differs }: ComparedOp): boolean {
  return a === null || b === null || differs.some((what) => what !== "attempts");
}

/** How much longer B took than A: `+1.2 s`; null: unknown. */
export function slower({ a, b }: ComparedOp): number | null {
  return a?.ms == null || b?.ms == null ? null : b.ms - a.ms;
}
