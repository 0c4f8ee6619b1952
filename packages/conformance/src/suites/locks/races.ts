import { expect } from "vitest";
import { connections, pick } from "../../connections.ts";
import { askOf } from "../../lock-calls.ts";
import { untilAnswered } from "../../patience.ts";
import { end, HOLD } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

/** Calls about one lock in flight at once. */
export const lockRaces: Suite = {
  noun: "races for locks",
  cases: {
    "many runs that ask at once: never more than the limit, and nobody waits while a place is free": async (t) => {
      const stores = await connections(t);
      for (const limit of [1, 3]) {
        const name = `crowd ${limit}`;
        const runs = [];
        for (let i = 0; i < 12; i++) {
          const holder = await t.held();
          const [seq = 0] = await t.locks.request(holder, [name], { limit });
          runs.push({ holder, seq });
        }
        for (let left = runs; left.length > 0; ) {
          await Promise.all(
            left.map(({ holder, seq }, i) =>
              untilAnswered(async () => {
                const asks = [askOf(holder, seq)];
                const { answers } = await pick(stores, i).locks.pass({ asks, givenBackBy: [] });
                return answers;
              }),
            ),
          );
          const { holders } = await t.locks.line(name);
          expect(holders).toEqual(left.slice(0, limit).map(({ holder }) => holder.runId));
          const leaving = left.slice(0, limit);
          await Promise.all(
            leaving.map(({ holder, seq }, i) =>
              untilAnswered(async () => {
                const commit = holder.draft(i % 2 === 0 ? end() : HOLD, { events: 1, unlocks: [seq] });
                return (await pick(stores, i).runs.commit({ commits: [commit] })).outcomes;
              }),
            ),
          );
          left = left.slice(limit);
        }
      }
    },

    "a lock that is given back while others ask reaches exactly one of them": async (t) => {
      const stores = await connections(t);
      for (let round = 0; round < 6; round++) {
        const name = `round ${round}`;
        const first = await t.locks.run(name);
        const others = [await t.locks.run(name), await t.locks.run(name)];
        const [back] = await Promise.all([
          untilAnswered(async () => {
            const commit = first.holder.draft(end(), { events: 1 });
            return (await pick(stores, 0).runs.commit({ commits: [commit] })).outcomes;
          }),
          ...others.map(({ holder, seq }, i) =>
            untilAnswered(async () => {
              const params = { asks: [askOf(holder, seq)], givenBackBy: [] };
              return (await pick(stores, i + 1).locks.pass(params)).answers;
            }),
          ),
        ]);
        expect(back[0]?.outcome).toBe("written");
        await t.locks.passOn(first.holder);
        expect(await t.locks.line(name)).toEqual({
          holders: [others[0]?.holder.runId],
          waiting: [others[1]?.holder.runId],
        });
      }
    },
  },
};
