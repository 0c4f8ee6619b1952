/** A namespace that nobody else has, and that is emptied afterward. */
import type { Client } from "holdfast";
import type { Call } from "../../command/call.ts";
import { OPEN_STATUSES as OPEN } from "../../command/run-statuses.ts";
import { UsageError } from "../../io/failure.ts";
import { isServer } from "../../io/open.ts";

export async function openOwnNamespace(
  call: Call,
  prefix: string,
): Promise<{ readonly hf: Client; readonly url: string }> {
  const target = call.target();
  if (target.from === "default")
    throw new UsageError(`Name the store: holdfast ${call.verb.path} --url file:${prefix}.db, or --url postgres://….`);
  if (isServer(target.url)) throw new UsageError(`${call.verb.path} works on a store, not through a server.`);
  const namespace = `${prefix}-${call.io.random().toString(36).slice(2, 10)}`;
  return { hf: await call.openAt({ ...target, namespace }, { create: "empty" }), url: target.url };
}

/** Ends what is open and deletes all runs. What stays: a few rows that name the workers and versions that were there. */
export async function empty(hf: Client): Promise<number> {
  if ((await hf.count({ status: OPEN, atMost: 1 })) > 0) await hf.batch({ status: OPEN }).terminate();
  return hf.purge({ olderThan: "0ms" });
}
