import { expect } from "vitest";
import { Holder } from "../../holder.ts";
import { end } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const [WORKERS, RUNS, PLACES, KEY_PLACES] = [4, 60, 5, 3];

/** Several workers at once. */
export const placeRaces: Suite = {
  noun: "races for places",
  cases: {
    "claims, ends and changes of limits at the same time never give more places than there are": async (t) => {
      await t.queues.set({ concurrency: PLACES, perKey: { concurrency: KEY_PLACES } });
      const stores = [t.store, await t.second()];
      await t.startMany(Array.from({ length: RUNS }, (_, i) => t.newRun({ key: i % 3 === 0 ? "a" : "b" })));
      const inside = new Map<string, string>();
      let ended = 0;
      const work = async (n: number): Promise<void> => {
        const store = stores[n % stores.length] as typeof t.store;
        const workerId = await t.worker({ leaseMs: 100_000_000 });
        while (ended < RUNS) {
          const { runs } = await store.runs.claim(t.claimParams(workerId, { limit: 3 }));
          for (const run of runs) inside.set(run.runId, run.key as string);
          const keys = [...inside.values()];
          expect(keys.length).toBeLessThanOrEqual(PLACES);
          for (const key of ["a", "b"])
            expect(keys.filter((one) => one === key).length).toBeLessThanOrEqual(KEY_PLACES);
          for (const run of runs) {
            const holder = new Holder(store, workerId, run);
            const commit = holder.draft(end());
            // Before the store can know: its place may be given to another at once.
            inside.delete(run.runId);
            while ((await holder.send(commit)).outcome === "busy");
            ended += 1;
          }
        }
      };
      const change = async (): Promise<void> => {
        while (ended < RUNS / 2)
          await t.queues.set({
            concurrency: PLACES,
            perKey: { concurrency: KEY_PLACES },
            weights: { a: 1 + (ended % 3) },
          });
      };
      await Promise.all([...Array.from({ length: WORKERS }, (_, n) => work(n)), change()]);
      expect((await t.queues.read()).runs).toMatchObject({ waiting: 0, running: 0 });
    },
  },
};
