/** What is done to one run, or to all that match a filter: by a batch, which workers go on with if this process dies. */
import os from "node:os";
import type {
  Batch,
  BatchOptions,
  BatchResult,
  Client,
  ListFilter,
  OperatorOptions,
  RunHandle,
  RunStatus,
} from "holdfast";
import type { Call } from "../../command/call.ts";
import { ENDED_STATUSES, OPEN_STATUSES as OPEN } from "../../command/run-statuses.ts";
import { given, readFilter } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { UsageError } from "../../io/failure.ts";
import { ProgressBar } from "../../output/progress.ts";

type Name = "cancel" | "terminate" | "pause" | "resume" | "retry";

/** The runs that an action can do anything to: others are neither counted nor acted on. A run that is about to pause is not parked yet. */
const FIT: Readonly<Record<Name | "signal", readonly RunStatus[]>> = {
  cancel: OPEN,
  terminate: OPEN,
  pause: OPEN,
  resume: OPEN,
  retry: ["failed"],
  signal: OPEN,
};

/** How a run has ended that an action need not end any more. */
const ENDED_SO: Readonly<Record<string, RunStatus>> = { cancel: "canceled", terminate: "terminated" };

const DONE: Readonly<Record<Name, string>> = {
  cancel: "Asked to stop:",
  terminate: "Terminated",
  pause: "Paused",
  resume: "Resumed",
  retry: "Continues:",
};

const PASSIVE: Readonly<Record<Name, string>> = {
  cancel: "be canceled",
  terminate: "be terminated, without cleanup",
  pause: "be paused",
  resume: "be resumed if they are paused or parked",
  retry: "be continued at what failed",
};

export function actOn(name: Name): Action {
  return async (call) => {
    const id = call.word("id");
    if (id === undefined)
      return actOnMatching(call, { name, title: name, passive: PASSIVE[name] }, (batch, options) =>
        batch[name](options),
      );
    if (readFilter(call) !== undefined) throw new UsageError("An id and filters exclude each other: give one of them.");
    const hf = await call.open();
    const handle = hf.get(id);
    if (call.flag("dry-run")) {
      const { status } = await handle.describe();
      call.out.line(`${id} is ${status}; nothing was changed.`);
      call.out.record({ id, status, matched: 1, dryRun: true });
      return undefined;
    }
    await refuseEnded(call, name, handle);
    await handle[name](whoOf(call));
    call.out.done(`${DONE[name]} ${call.out.paint.bold(id)}`, { id, action: name, status: await handle.status() });
    return undefined;
  };
}

/** The library takes both for runs that have ended, and changes nothing; a person or a script must not read that as done. */
async function refuseEnded(call: Call, name: Name, handle: RunHandle): Promise<void> {
  const wanted = ENDED_SO[name];
  if (wanted === undefined) return;
  const { id, endedAt, status } = await handle.describe();
  if (endedAt === null || status === wanted) return;
  const { HoldfastError } = await call.core();
  const message = `Run "${id}" has ended: it is ${status.replace("_", " ")}. There is nothing to ${name}.`;
  throw new HoldfastError("run_closed", message, { data: { id, status } });
}

export function whoOf(call: Call): OperatorOptions {
  const [reason, by] = [call.text("reason"), call.text("by") ?? userName()];
  return given({ reason, by }) as OperatorOptions;
}

/** Undefined where the user has no name, as in some containers. */
function userName(): string | undefined {
  try {
    return os.userInfo().username || undefined;
  } catch {
    return undefined;
  }
}

/** What is done to many runs, and in which words. */
export interface BulkAction {
  readonly name: Name | "signal";
  readonly title: string;
  readonly passive: string;
}

export async function actOnMatching(
  call: Call,
  { name, title: action, passive }: BulkAction,
  carryOut: (batch: Batch, options: BatchOptions) => Promise<BatchResult>,
): Promise<undefined> {
  const given = readFilter(call) ?? (call.flag("all") ? {} : undefined);
  if (given === undefined)
    throw new UsageError(
      `Name a run, or say which with filters (--workflow, --status …), or --all. See: holdfast ${call.verb.path} --help`,
    );
  const filter = { ...given, status: fitStatuses(name, given.status) };
  const hf = await call.open();
  const matched = await hf.count(filter);
  if (call.flag("dry-run")) {
    call.out.line(`${runs(matched)} would ${passive}. Nothing was changed.`);
    call.out.record({ action, matched, dryRun: true });
    return undefined;
  }
  if (matched > 0 && !(await call.confirm(`${runs(matched)} will ${passive}. Go on?`))) {
    call.declined();
    return undefined;
  }
  const result = await runBatch(call, hf, filter, matched, carryOut);
  showBatch(call, action, result);
  return undefined;
}

/** Those that are asked for, as far as the action can do anything to them. */
function fitStatuses(name: Name | "signal", asked: ListFilter["status"]): readonly RunStatus[] {
  if (asked === undefined) return FIT[name];
  const wanted = Array.isArray(asked) ? (asked as readonly RunStatus[]) : [asked as RunStatus];
  // What is no status at all, the core refuses, with a list of those that there are.
  const fit = wanted.filter(
    (status) => FIT[name].includes(status) || !([...ENDED_STATUSES, "moved"] as readonly string[]).includes(status),
  );
  if (fit.length > 0 || wanted.length === 0) return fit;
  const what =
    name === "retry" ? "only failed runs can be retried" : `runs that have ended cannot be acted on by ${name}`;
  throw new UsageError(`--status ${wanted.join(",")} leaves nothing to do: ${what}.`);
}

async function runBatch(
  call: Call,
  hf: Client,
  filter: ListFilter,
  matched: number,
  carryOut: (batch: Batch, options: BatchOptions) => Promise<BatchResult>,
): Promise<BatchResult> {
  const bar = new ProgressBar(call.io, call.out, matched);
  const perSecond = call.number("per-second");
  const options: BatchOptions = {
    ...whoOf(call),
    ...given({ perSecond }),
    onProgress: ({ done, skippedCount }) => bar.show(done + skippedCount),
  };
  try {
    return await call.unlessInterrupted(carryOut(hf.batch(filter), options));
  } finally {
    bar.clear();
  }
}

function showBatch(call: Call, action: string, result: BatchResult): void {
  const { done, skipped, skippedCount, matched, id } = result;
  call.out.done(`${action}: done for ${runs(done)}${skippedCount === 0 ? "" : `, ${skippedCount} left as they were`}`, {
    action,
    id,
    matched,
    done,
    skipped,
    skippedCount,
  });
  showCounts(call, countCodes(skipped));
}

export function countCodes(skipped: readonly { readonly code: string }[]): Readonly<Record<string, number>> {
  const codes: Record<string, number> = {};
  for (const { code } of skipped) codes[code] = (codes[code] ?? 0) + 1;
  return codes;
}

/** Why some were left out, and how often. */
export function showCounts(call: Call, codes: Readonly<Record<string, number>>): void {
  for (const [code, count] of Object.entries(codes)) call.out.note(call.out.errorPaint.dim(`  ${code}: ${count}`));
}

export function runs(count: number): string {
  return count === 1 ? "1 run" : `${count.toLocaleString("en-US")} runs`;
}
