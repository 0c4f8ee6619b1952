/** Two runs, op by op. */
import { isDeepStrictEqual } from "node:util";
import { refusal } from "../answers/refusal.ts";
import type { ComparedOp, ComparedSide, Comparison } from "../api/run-messages.ts";
import { findRun, type NamedRun } from "./named-run.ts";
import { type OpSummary, opSummaries } from "./op-summary.ts";
import { wholeNumber } from "./query-values.ts";
import { NOTHING_BESIDE, runDetail } from "./run-row.ts";
import type { Ask, Scope } from "./scope.ts";
import { PREVIEW_CHARACTERS } from "./shown-value.ts";
import { StoredValue } from "./stored-value.ts";

const ROWS_MAX = 1_000;

export async function comparison({ scope, query }: Ask): Promise<Comparison> {
  const [nameA, nameB] = [query.get("a"), query.get("b")];
  if (!nameA || !nameB) throw refusal(400, "bad_request", "Say which runs to compare: a and b.");
  const [a, b] = await Promise.all([findRun(scope, nameA), findRun(scope, nameB)]);
  const [opsA, opsB] = await Promise.all([summariesOf(scope, a), summariesOf(scope, b)]);
  const rows = aligned(opsA, opsB).map(([left, right]) => compared(scope, a, b, left, right));
  const parts = rows.findIndex(({ differs }) => differs.length > 0);
  const offset = wholeNumber(query, "offset", 0, rows.length);
  return {
    a: runDetail(scope, a.run, NOTHING_BESIDE),
    b: runDetail(scope, b.run, NOTHING_BESIDE),
    sameInput: sameValue(a.run.input, b.run.input),
    rows: rows.slice(offset, offset + ROWS_MAX),
    parts: parts < 0 ? null : parts,
    total: rows.length,
  };
}

function summariesOf(scope: Scope, { handle, run }: NamedRun): Promise<OpSummary[]> {
  return opSummaries(handle, `${scope.namespace} ${run.runId}`);
}

/** An op of both runs; undefined where one has not got it. */
export type AlignedOps = readonly [OpSummary | undefined, OpSummary | undefined];

/** In the order of the first run; an op that only the second has stands behind the one that it follows there. */
export function aligned(a: readonly OpSummary[], b: readonly OpSummary[]): AlignedOps[] {
  const inA = new Map(a.map((one) => [one.step.op, one]));
  const inB = new Map(b.map((one) => [one.step.op, one]));
  const rows: AlignedOps[] = [];
  let at = 0;
  const passForeign = (): void => {
    for (let one = b[at]; one && !inA.has(one.step.op); one = b[at]) {
      rows.push([undefined, one]);
      at += 1;
    }
  };
  for (const left of a) {
    passForeign();
    const right = inB.get(left.step.op);
    rows.push([left, right]);
    if (right && b[at] === right) at += 1;
  }
  const shown = new Set(rows.map(([, right]) => right));
  for (const right of b) if (!shown.has(right)) rows.push([undefined, right]);
  return rows;
}

function compared(
  scope: Scope,
  a: NamedRun,
  b: NamedRun,
  left: OpSummary | undefined,
  right: OpSummary | undefined,
): ComparedOp {
  const { op, kind } = ((left ?? right) as OpSummary).step;
  return {
    op,
    kind,
    a: left ? side(scope, a.run.workflow, left) : null,
    b: right ? side(scope, b.run.workflow, right) : null,
    differs: left && right ? differences(left, right) : ["missing"],
  };
}

function differences({ step: a }: OpSummary, { step: b }: OpSummary): string[] {
  const found: string[] = [];
  if (a.status !== b.status) found.push("status");
  if (a.attempts !== b.attempts) found.push("attempts");
  if (!sameValue(a.output, b.output)) found.push("result");
  if (a.inputHash !== b.inputHash) found.push("input");
  if (a.error?.message !== b.error?.message && !found.includes("status")) found.push("error");
  return found;
}

/** Stored bytes are compared: equal values are written the same way, unless they are encrypted. */
function sameValue(a: unknown, b: unknown): boolean {
  if (a instanceof StoredValue && b instanceof StoredValue)
    return Buffer.compare(Buffer.from(a.bytes), Buffer.from(b.bytes)) === 0;
  return isDeepStrictEqual(a, b);
}

function side(scope: Scope, workflow: string, { step, seq, ms }: OpSummary): ComparedSide {
  const { status, attempts, output, error, op } = step;
  const place = { namespace: scope.namespace, workflow, what: op };
  return {
    status,
    attempts,
    ms,
    result: scope.values.show(output, place, PREVIEW_CHARACTERS),
    error: error ? scope.values.error(error) : null,
    seq,
  };
}
