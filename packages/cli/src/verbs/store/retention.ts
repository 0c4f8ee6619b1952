import type { Client, RetentionOptions } from "holdfast";
import type { Call } from "../../command/call.ts";
import { ENDED_STATUSES as STATUSES } from "../../command/run-statuses.ts";
import { given } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { UsageError } from "../../io/failure.ts";

export const get: Action = async (call) => show(call, await call.open());

export const set: Action = async (call) => {
  const entries = STATUSES.map((status) => [status, call.text(status.replace("_", "-"))]);
  const wanted = given(Object.fromEntries(entries)) as RetentionOptions;
  if (Object.keys(wanted).length === 0)
    throw new UsageError("Say how long which runs are kept: --completed 30d. See: holdfast retention set --help");
  const hf = await call.open({ create: "empty" });
  await hf.retention.set(wanted);
  return show(call, hf);
};

async function show(call: Call, hf: Client): Promise<undefined> {
  const rules = await hf.retention.get();
  call.out.record(rules);
  call.out.facts(STATUSES.map((status) => [status.replace("_", " "), String(rules[status] ?? "forever")]));
  return undefined;
}
