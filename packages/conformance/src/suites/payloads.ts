import type { Attributes, ErrorRecord, HistoryEvent, Payload, Run } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { Holder } from "../holder.ts";
import { bytes, end, errorRecord, HOLD, park, someEvents } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

/** What users store comes back unchanged: bytes, sizes, attributes, errors. */
export const payloads: Suite = {
  noun: "payloads",
  cases: {
    "every byte survives, wherever a payload may be": async (t) => {
      await expectSurvives(
        t,
        Uint8Array.from({ length: 256 }, (_, i) => i),
      );
    },

    "bytes that are no text survive, and so do bytes that look like some": async (t) => {
      for (const payload of [
        Uint8Array.of(0),
        Uint8Array.of(0xc0, 0x80, 0xff, 0xfe),
        Uint8Array.of(0xef, 0xbb, 0xbf),
        bytes("\\x00ff"),
        bytes("null"),
        bytes('"\\ud800"'),
      ])
        await expectSurvives(t, payload);
    },

    "an empty payload is empty, and not absent": async (t) => {
      await expectSurvives(t, new Uint8Array(0));
    },

    "a payload that is a window on a larger buffer is stored without its surroundings": async (t) => {
      await expectSurvives(t, bytes("before|payload|after").subarray(7, 14));
    },

    "a payload of 1 MiB survives": async (t) => {
      const payload = Uint8Array.from({ length: 2 ** 20 }, (_, i) => (i * 31 + (i >> 8)) % 256);
      await expectSurvives(t, payload);
    },

    "10,000 events of one run, in commits of many sizes, are read in order": async (t) => {
      const holder = await t.held();
      for (const count of [1, 999, 4_000, 5_000]) {
        expect(await holder.commit(HOLD, { events: count })).toMatchObject({ outcome: "written" });
      }
      expect(await t.run(holder.runId)).toMatchObject({ eventCount: 10_000, commit: 4 });
      const events: HistoryEvent[] = [];
      for (let afterSeq = 0; afterSeq < 10_000; afterSeq += 2_500) {
        const [page] = await t.store.histories.read({
          runs: [{ namespace: "default", runId: holder.runId, afterSeq }],
          limitPerRun: 2_500,
        });
        events.push(...(page ?? []));
      }
      expect(events.length).toBe(10_000);
      const expected = someEvents(0, 10_000);
      expect(events.every(({ seq, op }, i) => seq === i + 1 && op === expected[i]?.op)).toBe(true);
      expect(events.at(-1)).toEqual(expected.at(-1));
    },

    "500 runs in one call are started, claimed, delivered to, committed and ended": async (t) => {
      const workerId = await t.worker();
      const runs = Array.from({ length: 500 }, () => t.newRun());
      await t.startMany(runs);
      const claimed = (await t.claim(workerId, { limit: 500 })).runs;
      expect(claimed).toHaveLength(500);
      const messages = runs.map(({ runId }) => t.newMessage(t.ref(runId)));
      const delivered = await t.store.inbox.deliver({ messages, inboxMax: 10 });
      expect(delivered.outcomes.every(({ outcome }) => outcome === "delivered")).toBe(true);
      const commits = claimed.map((run, i) =>
        new Holder(t.store, workerId, run).draft(end(), { events: (i % 3) + 1, consumed: 1 }),
      );
      const { outcomes } = await t.store.runs.commit({ commits });
      expect(outcomes.every(({ outcome, held }) => outcome === "written" && !held)).toBe(true);
      expect(await t.store.runs.count({ namespace: "default", statuses: ["completed"], atMost: null })).toBe(500);
      const asked = claimed.map(({ namespace, runId }) => ({ namespace, runId, afterSeq: 0 }));
      const histories = await t.store.histories.read({ runs: asked, limitPerRun: 10 });
      expect(histories.map((events) => events.length)).toEqual(claimed.map((_, i) => (i % 3) + 1));
    },

    "attributes of every type survive, in runs and in commits": async (t) => {
      const attributes: Attributes = {
        text: "ü",
        empty: "",
        digits: "007",
        yes: true,
        no: false,
        nothing: null,
        zero: 0,
        negative: -1,
        fraction: 0.1,
        large: Number.MAX_SAFE_INTEGER,
        small: Number.MIN_SAFE_INTEGER,
        huge: 1.7976931348623157e308,
        tiny: 5e-324,
        exponent: 1e21,
        "a.b": 'quote " and \\ and % and \u2028',
        constructor: "x",
      };
      const holder = await t.held({ attributes });
      expect((await t.run(holder.runId)).attributes).toEqual(attributes);
      const [row] = await t.store.runs.list({ namespace: "default", limit: 1 });
      expect(row?.attributes).toEqual(attributes);
      await holder.commit(HOLD, { attributes: { ...attributes, text: "ö" } });
      expect((await t.run(holder.runId)).attributes).toEqual({ ...attributes, text: "ö" });
    },

    "an error record survives with any text that user code may have put in": async (t) => {
      const error: ErrorRecord = {
        name: "Custom\u0000Error",
        message: "NUL \u0000, half a pair \ud800, a whole one 😀, \u2028 and 'quotes\"",
        kind: "Timeout",
        code: "E\u0001",
        stack: "at x\n\tat y",
        attempts: 3,
        op: "charge#2",
        data: { nested: { list: [1, "two", null, true], text: "\udfff" }, big: 1e21 },
        cause: { ...errorRecord("deeper"), cause: errorRecord("deepest") },
      };
      const [ended, parked] = [await t.held(), await t.held()];
      await ended.commit(end({ status: "failed", output: null, error }));
      expect((await t.run(ended.runId)).error).toEqual(error);
      await parked.commit({ type: "park", error });
      expect((await t.run(parked.runId)).error).toEqual(error);
      const { run } = await t.start();
      await t.store.runs.terminate({ runs: [t.ref(run.runId)], error });
      expect((await t.run(run.runId)).error).toEqual(error);
    },

    "the metadata of an event survives with any text": async (t) => {
      const holder = await t.held();
      const meta = {
        attempt: 2,
        error: { ...errorRecord("\u0000 \ud83d"), data: { x: [null, 0.5] } },
        retryAt: t.now + 1,
        reason: "because \u0000",
        attributes: { a: null, b: "c" },
        unknown: true,
        messageId: "m\u00e9",
      };
      const events: HistoryEvent[] = [{ seq: 1, type: "step_attempt_failed", op: "charge", at: t.now, meta }];
      await holder.commit(HOLD, { events });
      expect(await t.history(holder.runId)).toEqual(events);
    },

    "a parked run's error is gone when it ends well": async (t) => {
      const holder = await t.held();
      await holder.commit(park("odd"));
      await t.resume(t.ref(holder.runId));
      const next = await t.claimOne(await t.worker());
      await next.commit(end());
      expect(await t.run(holder.runId)).toMatchObject({ status: "completed", error: null, output: bytes('"done"') });
    },
  },
};

/** As input, event, message, carried message and output, and as the input of a successor. */
async function expectSurvives(t: Fixture, payload: Payload): Promise<void> {
  const wanted = Uint8Array.from(payload);
  const same = (found: Payload | null | undefined, where: string): void => {
    if (!found || found.length !== wanted.length || found.some((byte, i) => byte !== wanted[i]))
      throw new Error(`${where}: ${describe(found)} instead of ${describe(wanted)}`);
  };
  const holder = await t.held({ id: `payload ${t.newId()}`, input: payload });
  const { id } = await t.run(holder.runId);
  same((await t.run(holder.runId)).input, "input");
  await t.deliver(t.ref(holder.runId), { payload, messageId: "sent" });
  same((await t.inbox(holder.runId))[0]?.payload, "message");
  const [event] = someEvents(0, 1);
  await holder.commit(HOLD, { events: [{ ...event, payload } as HistoryEvent], consumed: 1 });
  same((await t.history(holder.runId))[0]?.payload, "event");
  const next = t.newRun({ id, input: payload });
  const carried = [{ kind: "signal", name: "approved", messageId: "sent", payload } as const];
  await holder.commit({ type: "continue", next, carried });
  const workerId = await t.worker();
  const { runs, messages } = await t.claim(workerId);
  same(runs[0]?.input, "claimed input");
  same(messages[0]?.payload, "carried message");
  await new Holder(t.store, workerId, runs[0] as Run).commit(end({ output: payload }), { consumed: 1 });
  same((await t.run(next.runId)).output, "output");
}

function describe(payload: Payload | null | undefined): string {
  if (!payload) return String(payload);
  return `${payload.length} bytes (${[...payload.subarray(0, 16)].join(" ")}…)`;
}
