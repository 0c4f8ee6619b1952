/** What is done to one run, or to all that match a filter: by a batch, which workers go on with if this process dies. */
import os from "node:os";
import type { Batch, BatchOptions, BatchResult, Client, ListFilter, OperatorOptions } from "holdfast";
import type { Call } from "../../command/call.ts";
import { given, readFilter } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { UsageError } from "../../io/failure.ts";
import { ProgressBar } from "../../output/progress.ts";

type Name = "cancel" | "terminate" | "pause" | "resume" | "retry";

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
  resume: "be resumed",
  retry: "be continued at what failed",
};

export function actOn(name: Name): Action {
  return async (call) => {
    const id = call.word("id");
    if (id === undefined) return actOnMatching(call, name, PASSIVE[name], (batch, options) => batch[name](options));
    if (readFilter(call) !== undefined) throw new UsageError("An id and filters exclude each other: give one of them.");
    const hf = await call.open();
    const handle = hf.get(id);
    if (call.flag("dry-run")) {
      const { status } = await handle.describe();
      call.out.line(`${id} is ${status}; nothing was changed.`);
      call.out.record({ id, status, matched: 1, dryRun: true });
      return undefined;
    }
    await handle[name](whoOf(call));
    call.out.done(`${DONE[name]} ${call.out.paint.bold(id)}`, { id, action: name, status: await handle.status() });
    return undefined;
  };
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

export async function actOnMatching(
  call: Call,
  action: string,
  passive: string,
  carryOut: (batch: Batch, options: BatchOptions) => Promise<BatchResult>,
): Promise<undefined> {
  const filter = readFilter(call) ?? (call.flag("all") ? {} : undefined);
  if (filter === undefined)
    throw new UsageError(
      `Name a run, or say which with filters (--workflow, --status …), or --all. See: holdfast ${call.verb.path} --help`,
    );
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
  const codes = new Map<string, number>();
  for (const { code } of skipped) codes.set(code, (codes.get(code) ?? 0) + 1);
  for (const [code, count] of codes) call.out.note(call.out.errorPaint.dim(`  ${code}: ${count}`));
}

export function runs(count: number): string {
  return count === 1 ? "1 run" : `${count.toLocaleString("en-US")} runs`;
}
