import { type Client, isHoldfastError, type RunHandle, signal, workflow } from "holdfast";
import { expect } from "vitest";
import { refusalOf } from "./client-fixture.ts";
import type { ClientSuite } from "./client-suite.ts";

const ping = signal<string>("ping");
const waiting = workflow("waiting", (ctx) => ctx.receive(ping));

type Call = () => unknown;

function callsOfClient(client: Client): Record<string, Call> {
  return {
    start: () => client.start(waiting),
    startMany: () => client.startMany([{ workflow: waiting }]),
    run: () => client.run(waiting),
    get: () => client.get("run-1"),
    list: () => client.list(),
    count: () => client.count(),
    purge: () => client.purge({ olderThan: "1 day" }),
    batch: () => client.batch({}).cancel(),
    batchRun: () => client.batchRun("batch-1"),
    health: () => client.health(),
    why: () => client.why("run-1"),
    worker: () => client.worker({ workflows: [waiting] }),
    "workers.list": () => client.workers.list(),
    "workers.get": () => client.workers.get("nobody"),
    "workers.events": () => client.workers.events(),
    "versions.list": () => client.versions.list(),
    "versions.setDefault": () => client.versions.setDefault("waiting", "1"),
    "versions.canary": () => client.versions.canary("waiting", "1", 0.5),
    "versions.deprecate": () => client.versions.deprecate("waiting", "1"),
  };
}

function callsOfHandle(name: string, handle: RunHandle<unknown>): Record<string, Call> {
  const calls: Record<string, Call> = {
    describe: () => handle.describe(),
    status: () => handle.status(),
    result: () => handle.result(),
    "result with a timeout": () => handle.result({ timeout: "1h" }),
    history: () => handle.history(),
    steps: () => handle.steps(),
    signal: () => handle.signal(ping, "now"),
    cancel: () => handle.cancel("enough"),
    terminate: () => handle.terminate("enough"),
    retry: () => handle.retry(),
    resume: () => handle.resume(),
  };
  return Object.fromEntries(Object.entries(calls).map(([call, fn]) => [`${call} of a handle from ${name}`, fn]));
}

/** The calls that are not refused with `client_closed`; there should be none. */
async function otherwise(calls: Record<string, Call>): Promise<readonly string[]> {
  const others: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    const error = await refusalOf(call);
    if (!isHoldfastError(error, "client_closed")) others.push(`${name}: ${String(error)}`);
  }
  return others;
}

export const closing: ClientSuite = {
  noun: "that is closed",
  cases: {
    "refuses every call with client_closed": async (t) => {
      const client = await t.connect();
      const started = await client.start(waiting, undefined, { id: "run-1" });
      const found = client.get("run-1");
      await client.close();
      expect(
        await otherwise({
          ...callsOfClient(client),
          ...callsOfHandle("start", started),
          ...callsOfHandle("get", found),
        }),
      ).toEqual([]);
    },

    "refuses every call while it is being closed": async (t) => {
      const client = await t.connect();
      await client.worker({ workflows: [waiting] }).start();
      const started = await client.start(waiting, undefined, { id: "run-1" });
      const found = client.get("run-1");
      const closed = client.close();
      expect(
        await otherwise({
          ...callsOfClient(client),
          ...callsOfHandle("start", started),
          ...callsOfHandle("get", found),
        }),
      ).toEqual([]);
      await closed;
    },

    "ends whatever waits for an answer or a result, and leaves the run alone": async (t) => {
      const client = await t.connect();
      const started = await client.start(waiting, undefined, { id: "run-1" });
      const found = client.get("run-1");
      const waits = [
        started.result(),
        started.result({ timeout: "1h" }),
        found.result(),
        client.start(waiting),
        client.list(),
        client.health(),
        client.versions.list(),
        found.history(),
        started.signal(ping, "now"),
      ].map((wait) => refusalOf(() => wait));
      const closed = client.close();
      for (const error of await Promise.all(waits)) expect(error).toMatchObject({ code: "client_closed" });
      await closed;
    },

    "ends what waits for a result for a long time": async (t) => {
      const client = await t.connect();
      await client.worker({ workflows: [waiting] }).start();
      const run = await client.start(waiting);
      const result = refusalOf(() => run.result());
      // By now it waits for the end of the run, not for an answer from the store.
      while ((await run.status()) !== "waiting") await client.count();
      await client.close();
      expect(await result).toMatchObject({ code: "client_closed" });
    },

    "may be closed again, and starts no worker": async (t) => {
      const client = await t.connect();
      const worker = client.worker({ workflows: [waiting] });
      const stopped = client.worker({ workflows: [waiting] });
      await stopped.start();
      await Promise.all([client.close(), client.close()]);
      await client.close();
      for (const one of [worker, stopped])
        expect(await refusalOf(() => one.start())).toMatchObject({ code: "client_closed" });
      await worker.drain();
      await worker.stop();
    },
  },
};
