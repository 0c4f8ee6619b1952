import type { PayloadPlace, PlacedPayload, ReplaceOutcome, ReplacePayload, Store } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import type { Holder } from "../holder.ts";
import { bytes, end, HOLD, RELEASE, START_MS } from "../sample-data.ts";
import { failed } from "../sample-tasks.ts";
import type { Suite } from "../suite.ts";

const ALL = { limitPerRun: 1_000, bytesPerRun: 1_000_000 };

/** Values are found wherever they are, and written in another way without a change of anything else. */
export const storedValues: Suite = {
  noun: "stored values",
  cases: {
    "a run's values are read in order: input, output, events, messages, details of tasks": async (t) => {
      const { runId } = await closedRun(t);
      expect(await shown(t, runId)).toEqual([
        "input 0: in",
        "output 0: out",
        'event 1: "input 1"',
        'event 2: "result 2"',
        "message 1: word",
        "message 2: result",
        "details 1: half",
      ]);
    },

    "what is no value is left out: undefined, and messages that carry an error or nothing": async (t) => {
      const holder = await t.held({ input: bytes("") });
      for (const kind of ["cancel", "task_failed", "child_failed", "watch_failed", "reply_failed"] as const)
        await t.deliver(t.ref(holder.runId), { kind, payload: bytes('{"error":true}') });
      await t.deliver(t.ref(holder.runId), { payload: bytes("") });
      await holder.commit(HOLD, {
        events: [
          { seq: 1, type: "timer_fired", op: "nap", at: START_MS },
          { seq: 2, type: "step_completed", op: "step", at: START_MS, payload: bytes("") },
        ],
      });
      expect(await shown(t, holder.runId)).toEqual([]);
    },

    "pages follow each other, by number and by size, and leave nothing out": async (t) => {
      const { runId } = await closedRun(t);
      const whole = await values(t, runId);
      for (const limits of [
        { limitPerRun: 1, bytesPerRun: 1_000_000 },
        { limitPerRun: 2, bytesPerRun: 1_000_000 },
        { limitPerRun: 1_000, bytesPerRun: 1 },
        { limitPerRun: 1_000, bytesPerRun: 12 },
      ]) {
        const paged: PlacedPayload[] = [];
        for (let after: PayloadPlace | null = null; ; after = paged.at(-1) as PayloadPlace) {
          const [page = []] = await t.store.payloads.read({ runs: [{ ...t.ref(runId), runId, after }], ...limits });
          if (page.length === 0) break;
          expect(page.length).toBeLessThanOrEqual(limits.limitPerRun);
          const before = page.slice(0, -1).reduce((sum, { payload }) => sum + payload.length, 0);
          expect(before).toBeLessThan(limits.bytesPerRun);
          paged.push(...page);
        }
        expect(paged).toEqual(whole);
      }
    },

    "several runs are answered in the order asked for, and those of another namespace do not exist": async (t) => {
      const [a, b] = [await t.start({ input: bytes("a") }), await t.start({ input: bytes("b") })];
      const ask = (namespace: string, runId: string) => ({ namespace, runId, after: null });
      const answers = await t.store.payloads.read({
        runs: [
          ask("default", b.run.runId),
          ask("elsewhere", a.run.runId),
          ask("default", t.newId()),
          ask("default", a.run.runId),
        ],
        ...ALL,
      });
      expect(answers.map((list) => list.map(({ payload }) => textOf(payload)))).toEqual([["b"], [], [], ["a"]]);
      const place = { part: "input", number: 0, from: bytes("a"), to: bytes("x") } as const;
      expect(await replace(t.store, [{ namespace: "elsewhere", runId: a.run.runId, ...place }])).toEqual(["changed"]);
      expect(await shown(t, a.run.runId)).toEqual(["input 0: a"]);
    },

    "every value can be replaced, and nothing else changes": async (t) => {
      const { runId } = await closedRun(t);
      const before = await everything(t, runId);
      const outcomes = await replaceAll(t, runId, (text) => `new ${text}`);
      expect(new Set(outcomes)).toEqual(new Set(["replaced"]));
      expect(await shown(t, runId)).toEqual([
        "input 0: new in",
        "output 0: new out",
        'event 1: new "input 1"',
        'event 2: new "result 2"',
        "message 1: new word",
        "message 2: new result",
        "details 1: new half",
      ]);
      expect(await t.tasks.read({ runId, seq: 1 })).toMatchObject({ input: bytes('new "input 1"') });
      await replaceAll(t, runId, (text) => text.slice("new ".length));
      expect(await everything(t, runId)).toEqual(before);
    },

    "a value that has changed is left as it is, and a repeated call is no change": async (t) => {
      const { task } = await t.tasks.held();
      await t.tasks.beat(task, bytes("half"));
      const place = { ...t.ref(task.runId), runId: task.runId, part: "details", number: task.seq } as const;
      const first = { ...place, from: bytes("half"), to: bytes("HALF") };
      expect(await replace(t.store, [first])).toEqual(["replaced"]);
      expect(await replace(t.store, [first])).toEqual(["replaced"]);
      await t.tasks.beat(task, bytes("most"));
      expect(await replace(t.store, [first])).toEqual(["changed"]);
      expect(await t.tasks.read(task)).toMatchObject({ details: bytes("most") });
      const nowhere = [
        { ...place, part: "event", number: 99 },
        { ...place, part: "message", number: 99 },
        { ...place, part: "output", number: 0 },
        { ...place, runId: t.newId() },
      ] as const;
      const outcomes = await replace(
        t.store,
        nowhere.map((one) => ({ ...one, from: bytes("x"), to: bytes("y") })),
      );
      expect(outcomes).toEqual(["changed", "in_use", "changed", "changed"]);
    },

    "each value of a call is decided separately": async (t) => {
      const holder = await t.held();
      await holder.commit(HOLD, { events: 3 });
      const replacements = [1, 2, 3].map((number) => ({
        ...t.ref(holder.runId),
        runId: holder.runId,
        part: "event" as const,
        number,
        from: bytes(number === 2 ? "other" : `"result ${number}"`),
        to: bytes(`${number}`),
      }));
      expect(await replace(t.store, replacements)).toEqual(["replaced", "changed", "replaced"]);
      expect((await shown(t, holder.runId)).slice(1)).toEqual(["event 1: 1", 'event 2: "result 2"', "event 3: 3"]);
    },

    "a message is in use until its holder has consumed it: it may become an event with the old bytes": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId), { payload: bytes("one") });
      await t.deliver(t.ref(holder.runId), { payload: bytes("two") });
      await holder.commit(HOLD, { consumed: 1 });
      const replacing = (): Promise<ReplaceOutcome[]> => replaceAll(t, holder.runId, (text) => text.toUpperCase());
      expect(await replacing()).toEqual(["replaced", "replaced", "in_use"]);
      await holder.commit(RELEASE);
      expect(await replacing()).toEqual(["replaced", "replaced", "replaced"]);
      const taken = await t.claimOne(await t.worker());
      expect((await t.inbox(taken.runId, 1)).map(({ payload }) => textOf(payload))).toEqual(["TWO"]);
    },

    "what a run still owes to another one is in use: it may become a message with the old bytes": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent);
      await child.commit(end(), { events: 1 });
      const replacing = (): Promise<ReplaceOutcome[]> => replaceAll(t, child.runId, (text) => `new ${text}`);
      expect(await replacing()).toEqual(["replaced", "in_use", "in_use"]);
      await t.talks.payAll();
      expect(await replacing()).toEqual(["replaced", "replaced", "replaced"]);
      expect((await t.inbox(parent.runId)).map(({ payload }) => textOf(payload))).toEqual(['"done"']);
    },

    "a holder goes on as if nothing had happened": async (t) => {
      const holder = await t.held();
      await holder.commit(HOLD, { events: 2 });
      await replaceAll(t, holder.runId, (text) => `new ${text}`);
      expect(await holder.commit(end(), { events: 1 })).toMatchObject({ outcome: "written" });
      expect(await t.run(holder.runId)).toMatchObject({ status: "completed", epoch: 1, commit: 2, eventCount: 3 });
    },
  },
};

/** With a value in every place: the task of the run has become a dead letter. */
async function closedRun(t: Fixture): Promise<Holder> {
  const holder = await t.held({ input: bytes("in") });
  await holder.schedule([{}]);
  await holder.commit(HOLD, { events: 1 });
  const task = await t.tasks.claimOne(await t.worker());
  await t.tasks.beat(task, bytes("half"));
  await t.deliver(t.ref(holder.runId), { payload: bytes("word") });
  await t.deliver(t.ref(holder.runId), { kind: "watch_completed", payload: bytes("result") });
  await t.tasks.finish(task, failed(true));
  await holder.commit(end({ output: bytes("out") }));
  return holder;
}

function textOf(payload: Uint8Array): string {
  return new TextDecoder().decode(payload);
}

async function values(t: Fixture, runId: string): Promise<readonly PlacedPayload[]> {
  return (await t.store.payloads.read({ runs: [{ namespace: "default", runId, after: null }], ...ALL }))[0] ?? [];
}

async function shown(t: Fixture, runId: string): Promise<string[]> {
  return (await values(t, runId)).map(({ part, number, payload }) => `${part} ${number}: ${textOf(payload)}`);
}

async function replace(store: Store, payloads: readonly ReplacePayload[]): Promise<ReplaceOutcome[]> {
  return [...(await store.payloads.replaceIfUnchanged({ payloads })).outcomes];
}

async function replaceAll(t: Fixture, runId: string, change: (text: string) => string): Promise<ReplaceOutcome[]> {
  const found = await values(t, runId);
  return replace(
    t.store,
    found.map(({ payload: from, ...place }) => {
      return { namespace: "default", runId, ...place, from, to: bytes(change(textOf(from))) };
    }),
  );
}

/** All that the store tells about a run. */
async function everything(t: Fixture, runId: string) {
  const task = await t.tasks.find({ runId, seq: 1 });
  return [await t.run(runId), await t.history(runId), await t.inbox(runId), task, await values(t, runId)];
}
