import type { Client, RunHandle, StartOptions } from "holdfast";
import type { Call } from "../../command/call.ts";
import { given, millisecondsOf, readAttributes, readInput, readTime } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { failureOf, UsageError } from "../../io/failure.ts";
import { shownJson } from "../../output/json-line.ts";
import { harmless } from "../../output/width.ts";

/** The codes with which `result()` says that the run did not complete. */
const NOT_COMPLETED = ["run_failed", "run_canceled", "run_terminated", "run_timed_out", "run_parked"];

export const start: Action = async (call) => {
  const workflow = call.argument("workflow");
  const input = await readInput(call);
  // Before the run is there: exit code 2 says that nothing was done.
  const timeout = checkedTimeout(call);
  if (timeout !== undefined && !call.flag("wait"))
    throw new UsageError("--timeout is how long --wait waits. A limit of the run itself is --run-timeout.");
  const hf = await call.open({ create: "empty" });
  const handle = (await hf.start(workflow, input, startOptions(call))) as RunHandle;
  if (call.flag("wait")) return showResult(call, hf, handle);
  const { id, runId, status } = await handle.describe();
  const { bold, dim } = call.out.paint;
  const what = handle.created ? "Started" : "It exists already:";
  call.out.done(`${what} ${bold(id)} ${dim(`(${workflow}, run ${runId}, ${status})`)}`, {
    id,
    runId,
    workflow,
    status,
  });
  if (call.out.isTerminal) call.out.note(call.out.errorPaint.dim(`Follow it with: holdfast workflow watch ${id}`));
  return undefined;
};

function startOptions(call: Call): StartOptions {
  const [id, version, queue, key, delay, timeout] = ["id", "version-of", "queue", "key", "delay", "run-timeout"].map(
    (name) => call.text(name),
  );
  const ifRunning = call.text("if-running") as StartOptions["ifRunning"];
  const ifClosed = call.text("if-closed") as StartOptions["ifClosed"];
  const [priority, startAt, attributes] = [
    call.number("priority", -9),
    readTime(call, "at", "ahead"),
    readAttributes(call),
  ];
  const options = { id, version, queue, key, delay, timeout, ifRunning, ifClosed, priority, startAt, attributes };
  return given(options) as StartOptions;
}

export const result: Action = async (call) => {
  checkedTimeout(call);
  const hf = await call.open();
  return showResult(call, hf, hf.get(call.argument("id")));
};

function checkedTimeout(call: Call): string | undefined {
  const timeout = call.text("timeout");
  if (timeout !== undefined) millisecondsOf(timeout, "--timeout");
  return timeout;
}

async function showResult(call: Call, hf: Client, handle: RunHandle): Promise<number> {
  const timeout = call.text("timeout");
  const about = async () => {
    const { id, runId, workflow, status } = await hf.get(handle.id).describe();
    return { id, runId, workflow, status };
  };
  try {
    const value = await call.unlessInterrupted(handle.result(timeout === undefined ? {} : { timeout }));
    call.out.record({ ...(await about()), result: value === undefined ? null : value });
    call.out.line(value === undefined ? "" : harmless(shownJson(value)));
    return EXIT.done;
  } catch (error) {
    const { ERROR_CODES } = await call.core();
    const failure = failureOf(error, ERROR_CODES);
    if (failure.code === "result_timeout") call.out.record(await about());
    if (!NOT_COMPLETED.includes(failure.code)) throw error;
    const { code, kind, message, data } = failure;
    const { cause } = error as { readonly cause?: unknown };
    const record = { code, kind, message, data, ...(cause instanceof Error ? { cause } : {}) };
    call.out.record({ ...(await about()), error: record });
    call.out.note(`${call.out.errorPaint.red("error:")} ${harmless(message)}`);
    return EXIT.failed;
  }
}
