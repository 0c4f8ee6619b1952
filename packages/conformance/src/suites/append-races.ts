import { expect } from "vitest";
import { connections, pick, race, twoConnections } from "../connections.ts";
import type { Fixture } from "../fixture.ts";
import type { Holder } from "../holder.ts";
import { untilAnswered } from "../patience.ts";
import { APPEND, end, HOLD, someEvents, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";
import { begun, TAKINGS, type TakeAway } from "./taking-away.ts";

const ROUNDS = 10;

/** An append in flight while the run is taken away: it is written whole before that, or never. */
async function raced(t: Fixture, takeAway: TakeAway): Promise<void> {
  const [one, other] = await twoConnections(t);
  for (let round = 0; round < ROUNDS; round++) {
    const holder = await begun(t);
    const commits = [holder.draft(APPEND, { events: 3 })];
    const [appended] = await race(
      round % 2 === 0,
      () => untilAnswered(() => one.runs.commit({ commits })),
      () => takeAway(t, other, holder),
    );
    // Nothing of the former holder is on its way any more: what there is now is all there will be.
    const row = await t.run(holder.runId);
    const events = await t.history(holder.runId);
    const steps = events.filter(({ type }) => type === "step_completed");
    expect(steps).toHaveLength(appended.outcomes[0]?.outcome === "written" ? 4 : 1);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
    expect(row).toMatchObject({ heldBy: null, eventCount: events.length });
    expect(await one.runs.commit({ commits })).toMatchObject({ outcomes: [{ outcome: "lost" }] });
    if (row.endedAt === null) await continues(t, holder, events.length);
  }
}

/** Whoever comes next is the holder, and none of its events is refused because of those of the one before. */
async function continues(t: Fixture, before: Holder, eventCount: number): Promise<void> {
  const next = await t.claimOne(await t.worker());
  expect([next.runId, next.eventCount]).toEqual([before.runId, eventCount]);
  expect(await next.commit(HOLD, { events: 1 })).toMatchObject({ outcome: "written" });
  expect(await next.commit(APPEND, { events: 1 })).toMatchObject({ outcome: "written" });
  expect(await next.commit(end())).toMatchObject({ outcome: "written" });
  expect(await t.run(before.runId)).toMatchObject({ eventCount: eventCount + 2, status: "completed" });
}

export const appendRaces: Suite = {
  noun: "appends in flight",
  cases: {
    "an append that races with a release is written before it or never": (t) => raced(t, TAKINGS.release),
    "an append that races with the stop of its worker is written before it or never": (t) => raced(t, TAKINGS.stop),
    "an append that races with a sweep is written before it or never": (t) => raced(t, TAKINGS.sweep),
    "an append that races with a restart is written before it or never": (t) => raced(t, TAKINGS.restart),
    "an append that races with a terminate is written before it or never": (t) => raced(t, TAKINGS.terminate),
    "an append that races with a replacement is written before it or never": (t) => raced(t, TAKINGS.replace),

    "copies of one append that arrive at once are written once": async (t) => {
      const stores = await connections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const [holder, bystander] = [await begun(t), await begun(t)];
        const commits = [holder.draft(APPEND, { events: 2 }), bystander.draft(APPEND, { events: 1 })];
        const results = await Promise.all(stores.map((store) => untilAnswered(() => store.runs.commit({ commits }))));
        for (const { outcomes } of results)
          expect(outcomes).toMatchObject([{ outcome: "written" }, { outcome: "written" }]);
        expect(await t.history(holder.runId)).toEqual(someEvents(0, 3));
        expect(await t.history(bystander.runId)).toEqual(someEvents(0, 2));
      }
    },

    "a copy of an append that arrives with the commit after it changes nothing": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const holder = await begun(t);
        const commits = [holder.draft(APPEND, { events: 2 })];
        await holder.send(commits[0] as (typeof commits)[0]);
        const last = [holder.draft(end(), { events: 1 })];
        const [ended, late] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits: last })),
          () => untilAnswered(() => other.runs.commit({ commits })),
        );
        expect(ended.outcomes).toMatchObject([{ outcome: "written", held: false }]);
        expect(["written", "lost"]).toContain(late.outcomes[0]?.outcome);
        expect(await t.history(holder.runId)).toEqual(someEvents(0, 4));
        expect(await t.run(holder.runId)).toMatchObject({ eventCount: 4, status: "completed" });
      }
    },

    "a message that races with an append is seen by the suspend after it": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const holder = await begun(t);
        const append = holder.draft(APPEND, { events: 1 });
        const messages = [t.newMessage(t.ref(holder.runId))];
        const [appended] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits: [append] })),
          () => untilAnswered(() => other.inbox.deliver({ messages, inboxMax: 10 })),
        );
        expect(appended.outcomes).toMatchObject([{ outcome: "written", held: true }]);
        holder.follow(append);
        expect(await holder.commit(suspend(null))).toMatchObject({ outcome: "written", held: true, delivered: 1 });
      }
    },

    "appends on many connections go on while the runs of others are taken away": async (t) => {
      const stores = await connections(t);
      const workerId = await t.worker();
      const holders = await Promise.all(Array.from({ length: 12 }, () => begun(t, workerId)));
      const others = await Promise.all(Array.from({ length: 6 }, () => begun(t, workerId)));
      const taken = others.map((other, i) => TAKINGS.terminate(t, pick(stores, i), other));
      for (let step = 0; step < 4; step++) {
        const commits = holders.map((holder) => holder.draft(APPEND, { events: 1 }));
        const parts = [commits.slice(0, 6), commits.slice(6)];
        const answers = await Promise.all(
          parts.map((part, i) => untilAnswered(() => pick(stores, i + step).runs.commit({ commits: part }))),
        );
        expect(answers.flatMap(({ outcomes }) => outcomes.map(({ outcome }) => outcome))).toEqual(
          holders.map(() => "written"),
        );
        for (const [i, holder] of holders.entries()) holder.follow(commits[i] as (typeof commits)[0]);
      }
      await Promise.all(taken);
      for (const { runId } of holders) expect(await t.history(runId)).toEqual(someEvents(0, 5));
      for (const { runId } of others) expect(await t.run(runId)).toMatchObject({ status: "terminated", eventCount: 1 });
    },
  },
};
