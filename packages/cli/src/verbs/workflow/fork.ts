import type { ForkOptions } from "holdfast";
import { given, readInput } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { UsageError } from "../../io/failure.ts";
import { whoOf } from "./act.ts";

export const fork: Action = async (call) => {
  const [id, before] = [call.argument("id"), call.required("before")];
  const input = await readInput(call);
  const hf = await call.open();
  const edit = call.texts("edit").map(readEdit);
  const options = {
    before: /^\d+$/.test(before) ? Number(before) : before,
    ...given({ id: call.text("new-id"), input }),
    ...(edit.length === 0 ? {} : { edit: Object.fromEntries(edit) }),
    ...whoOf(call),
  } as ForkOptions;
  const made = await hf.get(id).fork(options);
  const { runId, workflow, status } = await made.describe();
  call.out.done(`Forked ${id} as ${call.out.paint.bold(made.id)}`, {
    id: made.id,
    runId,
    workflow,
    status,
    forkedFrom: id,
  });
  return undefined;
};

function readEdit(text: string): [string, { readonly result: unknown }] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`--edit is "${text}"; write it as op=json, such as charge='{"id":"p-1"}'.`);
  try {
    return [text.slice(0, at), { result: JSON.parse(text.slice(at + 1)) }];
  } catch (cause) {
    throw new UsageError(`--edit of ${text.slice(0, at)} is not valid JSON: ${(cause as Error).message}`);
  }
}
