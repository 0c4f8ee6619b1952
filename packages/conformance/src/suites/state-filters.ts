import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { end, errorRecord, park, someEvents, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";
import { expectFilter } from "./listing.ts";

/** A run that waits for these ops, as the engine names them in the row. */
async function waiting(t: Fixture, waitingFor: readonly string[]): Promise<string> {
  const holder = await t.held();
  await holder.commit(suspend(null, { waitingFor }));
  return holder.runId;
}

/** Lists and counts by what runs wait for, and by how they ended. */
export const stateFilters: Suite = {
  noun: "lists by state",
  cases: {
    "filters by what a run waits for: an op, all ops of a name, or a prefix": async (t) => {
      const first = await waiting(t, ["charge#00"]);
      const second = await waiting(t, ["nap", "charge#2#00"]);
      const signal = await waiting(t, ["receive:charge"]);
      const other = await waiting(t, ["receive:paid#12", "charge#x", "charge it", "recharge"]);
      await waiting(t, []);
      await expectFilter(t, { waitingFor: "charge" }, [second, first]);
      await expectFilter(t, { waitingFor: "charge#2" }, [second]);
      await expectFilter(t, { waitingFor: "charge#" }, []);
      await expectFilter(t, { waitingFor: "charge#x" }, [other]);
      await expectFilter(t, { waitingFor: "nap" }, [second]);
      await expectFilter(t, { waitingFor: "receive:" }, [other, signal]);
      await expectFilter(t, { waitingFor: "receive:paid" }, [other]);
      await expectFilter(t, { waitingFor: "receive:pai" }, []);
      await expectFilter(t, { waitingFor: "receive:paid#1" }, []);
      await expectFilter(t, { waitingFor: "Charge" }, []);
    },

    "the name of what a run waits for is a name, not a pattern": async (t) => {
      const names = ["a%", "a_", "a*", "a?", "[a]", "a'", 'a"', "a\\", "a.b", "ключ", "$.a"];
      const runIds: string[] = [];
      for (const name of names) runIds.push(await waiting(t, [name]));
      for (const [i, name] of names.entries()) await expectFilter(t, { waitingFor: name }, [runIds[i]]);
      await expectFilter(t, { waitingFor: "ab" }, []);
      await expectFilter(t, { waitingFor: "%:" }, []);
    },

    "a run that is claimed waits for nothing": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(t.now, { waitingFor: ["charge#00"] }));
      await expectFilter(t, { waitingFor: "charge" }, [holder.runId]);
      await expectFilter(t, { retrying: true }, [holder.runId]);
      await t.claim(holder.workerId);
      await expectFilter(t, { waitingFor: "charge" }, []);
      await expectFilter(t, { retrying: true }, []);
    },

    "filters by waiting for a next attempt": async (t) => {
      const retrying = await waiting(t, ["receive:paid", "charge#2#00"]);
      await waiting(t, ["charge", "mail#01", "child#02", "a#100", "b#200"]);
      await expectFilter(t, { retrying: true }, [retrying]);
      await expectFilter(t, { retrying: true, waitingFor: "receive:" }, [retrying]);
      await expectFilter(t, { retrying: true, statuses: ["sleeping"] }, []);
      await expectFilter(t, { retrying: true, statuses: ["waiting", "completed"] }, [retrying]);
    },

    "filters by waiting for long: since its last event, or since it began": async (t) => {
      const began = t.now;
      const unmoved = await waiting(t, ["a"]);
      const held = await t.held();
      await t.advance(10);
      const moved = await t.held();
      await moved.commit(suspend(null, { waitingFor: ["b"] }), { events: someEvents(0, 2, began + 5) });
      await held.commit({ type: "hold", status: "compensating" }, { events: 1 });
      await expectFilter(t, { waitingSince: began - 1 }, []);
      await expectFilter(t, { waitingSince: began + 4 }, [unmoved]);
      await expectFilter(t, { waitingSince: began + 5 }, [moved.runId, unmoved]);
    },

    "filters by the code or the kind of an error": async (t) => {
      const error = (code: string | undefined, kind: "Timeout" | "NotFound") => ({
        ...errorRecord("no"),
        kind,
        ...(code === undefined ? {} : { code }),
      });
      const failed = await t.held();
      await failed.commit(end({ status: "failed", output: null, error: error("ECONNRESET", "Timeout") }));
      const late = await t.held();
      await late.commit(end({ status: "timed_out", output: null, error: error(undefined, "Timeout") }));
      const parked = await t.held();
      await parked.commit({ type: "park", error: error("workflow_bug", "NotFound") });
      await (await t.held()).commit(end());
      await (await t.held()).commit(park("odd"));
      await expectFilter(t, { error: "ECONNRESET" }, [failed.runId]);
      await expectFilter(t, { error: "Timeout" }, [late.runId, failed.runId]);
      await expectFilter(t, { error: "workflow_bug" }, [parked.runId]);
      await expectFilter(t, { error: "Timeout", statuses: ["failed", "completed"] }, [failed.runId]);
      await expectFilter(t, { error: "no" }, []);
      await expectFilter(t, { error: "Error" }, []);
    },

    "a list tells what the error of a run is about, and when its last event was": async (t) => {
      const failed = await t.held();
      const error = { ...errorRecord("no"), code: "ECONNRESET", stack: "at night" };
      await failed.commit(end({ status: "failed", output: null, error }), { events: 2 });
      const [row] = await t.store.runs.list({ namespace: "default", limit: 1 });
      const [events] = await t.store.histories.read({
        runs: [{ namespace: "default", runId: failed.runId, afterSeq: 1 }],
        limitPerRun: 1,
      });
      expect(row).toMatchObject({ lastEventAt: events?.[0]?.at });
      expect(row?.error).toEqual({ kind: error.kind, code: "ECONNRESET" });
    },

    "filters by the time of the end, without the bounds": async (t) => {
      const runIds: string[] = [];
      const times: number[] = [];
      // Created in the opposite order of their ends.
      const holders = [await t.held(), await t.held(), await t.held()].reverse();
      for (const holder of holders) {
        await t.advance(10);
        times.push(t.now);
        runIds.push(holder.runId);
        await holder.commit(end({ status: times.length === 2 ? "canceled" : "completed" }));
      }
      await t.held();
      const [first, middle, last] = times as [number, number, number];
      await expectFilter(t, { endedAfter: first }, [runIds[1], runIds[2]]);
      await expectFilter(t, { endedAfter: first - 1 }, runIds);
      await expectFilter(t, { endedBefore: last }, [runIds[0], runIds[1]]);
      await expectFilter(t, { endedAfter: first, endedBefore: last }, [runIds[1]]);
      await expectFilter(t, { endedAfter: middle, endedBefore: middle }, []);
      await expectFilter(t, { endedAfter: first, statuses: ["canceled", "running"] }, [runIds[1]]);
      await expectFilter(t, { endedAfter: first, statuses: ["running"] }, []);
      await expectFilter(t, { endedAfter: first - 1, workflow: "order", queue: "default" }, runIds);
      await expectFilter(t, { endedAfter: first - 1, queue: "none" }, []);
    },

    "filters that no run can match together find nothing": async (t) => {
      await waiting(t, ["charge#00"]);
      await (await t.held()).commit(end());
      await expectFilter(t, { waitingFor: "charge", endedAfter: 0 }, []);
      await expectFilter(t, { retrying: true, error: "Unknown" }, []);
      await expectFilter(t, { waitingFor: "charge", statuses: ["completed"] }, []);
    },

    "pages of ended runs follow each other": async (t) => {
      const holders = [];
      for (let i = 0; i < 5; i++) {
        holders.push(await t.held());
        await t.advance(1);
      }
      for (const holder of holders) await holder.commit(end());
      const all = holders.map(({ runId }) => runId).reverse();
      const paged: string[] = [];
      let before: { createdAt: number; runId: string } | undefined;
      for (let page = 0; page < 3; page++) {
        const filter = { namespace: "default", endedAfter: 0, limit: 2, ...(before ? { before } : {}) };
        const rows = await t.store.runs.list(filter);
        paged.push(...rows.map(({ runId }) => runId));
        const last = rows.at(-1);
        if (last) before = { createdAt: last.createdAt, runId: last.runId };
      }
      expect(paged).toEqual(all);
    },
  },
};
