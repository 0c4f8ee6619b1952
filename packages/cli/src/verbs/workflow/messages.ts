import type { Call } from "../../command/call.ts";
import { given, readFilter, readInput } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { UsageError } from "../../io/failure.ts";
import { shownJson } from "../../output/json-line.ts";
import { harmless } from "../../output/width.ts";
import { actOnMatching } from "./act.ts";

export const signalRun: Action = async (call) => {
  const filter = readFilter(call);
  const [first, second] = [call.argument("id"), call.word("name")];
  const payload = await readInput(call);
  const { signal } = await call.core();
  if (filter === undefined && !call.flag("all")) {
    if (second === undefined)
      throw new UsageError("<name> is missing: which signal? See: holdfast workflow signal --help");
    const hf = await call.open();
    await hf.get(first).signal(signal<unknown>(second), payload, given({ id: call.text("signal-id") }));
    call.out.done(`Sent ${second} to ${call.out.paint.bold(first)}`, { id: first, signal: second });
    return undefined;
  }
  if (second !== undefined)
    throw new UsageError("An id and filters exclude each other. With filters, write only the name of the signal.");
  const action = { name: "signal", title: `signal "${first}"`, passive: "be sent the signal" } as const;
  return actOnMatching(call, action, (batch, options) => batch.signal(signal<unknown>(first), payload, options));
};

export const queryRun: Action = async (call) => {
  const [id, name] = [call.argument("id"), call.argument("name")];
  const argument = await readInput(call);
  const hf = await call.open();
  const { query } = await call.core();
  const answer = await call.unlessInterrupted(hf.get(id).query(query<unknown, unknown>(name), argument));
  return showAnswer(call, { id, query: name }, answer);
};

export const updateRun: Action = async (call) => {
  const [id, name] = [call.argument("id"), call.argument("name")];
  const argument = await readInput(call);
  const hf = await call.open();
  const { update } = await call.core();
  const options = given({ id: call.text("update-id"), timeout: call.text("timeout") });
  const answer = await call.unlessInterrupted(hf.get(id).update(update<unknown, unknown>(name), argument, options));
  return showAnswer(call, { id, update: name }, answer);
};

function showAnswer(call: Call, about: object, answer: unknown): undefined {
  call.out.record({ ...about, result: answer === undefined ? null : answer });
  call.out.line(answer === undefined ? "" : harmless(shownJson(answer)));
  return undefined;
}
