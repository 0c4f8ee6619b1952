/** `worker`: executes what files export, until it is told to stop. */
import type { Client, Worker, WorkerOptions } from "holdfast";
import type { Call } from "../../command/call.ts";
import { given } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { shownUrl } from "../../io/target.ts";
import { workerLogger } from "../../output/worker-logger.ts";
import { codeText, loadCode } from "./exported-code.ts";

const LOOK_MS = 1_000;

export const worker: Action = async (call) => {
  const { io, out } = call;
  const code = await loadCode(io, call.words("file"));
  const hf = await call.open({ create: "empty", logger: workerLogger(io, out) });
  const made = hf.worker({ ...code, ...workerOptions(call) } as WorkerOptions);
  await made.start();
  const { workerId } = made;
  const [workflows, tasks] = [code.workflows, code.tasks].map((all) => all.map(({ name }) => name));
  out.record({ event: "started", workerId, workflows, tasks });
  out.line(
    `${out.paint.green("✓")} Worker ${out.paint.bold(made.name)} serves ${codeText(code)} on ${shownUrl(call.target().url)}`,
  );
  out.note(out.errorPaint.dim("Ctrl-C drains and stops."));
  await untilStopped(call, hf, made);
  out.note(out.errorPaint.dim(drainNote(call.text("drain-timeout"))));
  await made.drain();
  out.record({ event: "stopped", workerId });
  out.line(`${out.paint.green("✓")} Stopped; its runs are free for other workers`);
  return EXIT.done;
};

/** Nobody should have to guess how long it takes, and how not to wait. */
export function drainNote(timeout = "30s"): string {
  return `Draining: running steps have ${timeout}. A second signal stops at once.`;
}

function workerOptions(call: Call): object {
  const [queues, labels] = [call.texts("queue"), call.texts("label")];
  const record = labels.map((label): [string, string] => {
    const at = label.indexOf("=");
    return at < 0 ? [label, ""] : [label.slice(0, at), label.slice(at + 1)];
  });
  return given({
    queues: queues.length === 0 ? undefined : queues,
    labels: labels.length === 0 ? undefined : Object.fromEntries(record),
    concurrency: call.number("concurrency"),
    taskConcurrency: call.number("task-concurrency"),
    name: call.text("name"),
    lease: call.text("lease"),
    drainTimeout: call.text("drain-timeout"),
  });
}

/** Ctrl-C, or `workers drain` from anywhere: a worker that was asked to drain does not come back by itself. */
async function untilStopped({ io }: Call, hf: Client, made: Worker): Promise<void> {
  while (!io.interrupted.aborted) {
    await io.wait(LOOK_MS, io.interrupted);
    if (io.interrupted.aborted || made.ready) continue;
    const row = await hf.workers.get(made.workerId).catch(() => undefined);
    if (row?.drainAsked === true) return;
  }
}
