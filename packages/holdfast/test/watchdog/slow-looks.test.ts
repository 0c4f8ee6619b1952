/** A look takes as long as the store takes: what begins meanwhile did not begin with the look. */
import type { Alert } from "holdfast";
import { hookedStore } from "holdfast/adapter";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";
import { stuck, stuckTask } from "./watched.ts";

/** A fleet whose worker that keeps watch waits for the list of workers as long as `slow.ms` says. */
async function slowlyWatched(detect: "stalled_run" | "stalled_task") {
  const fleet = openFleet();
  const alerts: Alert[] = [];
  const slow = { ms: 0 };
  const { list } = fleet.store.workers;
  const store = hookedStore(fleet.store, {
    "workers.list": async (params) => {
      await new Promise<void>((resolve) => void fleet.clock.setTimer(slow.ms, resolve));
      return list(params);
    },
  });
  const onAlert = (alert: Alert): void => void alerts.push(alert);
  const watchdog = { every: "10s", rules: [{ detect, after: "1m", action: "alert" }], onAlert } as const;
  await fleet.worker({ name: "watcher", watchdog }, { store });
  return { fleet, alerts, slow };
}

test("a run that was taken while the watchdog waited for the store is not found before its time", async () => {
  const { fleet, alerts, slow } = await slowlyWatched("stalled_run");
  const { definition } = stuck();
  await fleet.worker({ workflows: [definition] });
  slow.ms = 40_000;
  await fleet.clock.advance("35s");
  await fleet.client().start(definition);
  slow.ms = 0;
  await fleet.clock.advance("55s");
  expect(alerts).toEqual([]);
  await fleet.clock.advance("40s");
  expect(alerts).toMatchObject([{ detect: "stalled_run" }]);
});

test("an attempt that was taken while the watchdog waited for the store is not found before its time", async () => {
  const { fleet, alerts, slow } = await slowlyWatched("stalled_task");
  const { send, mails } = stuckTask();
  await fleet.worker({ workflows: [mails], tasks: [send] });
  slow.ms = 40_000;
  await fleet.clock.advance("35s");
  await fleet.client().start(mails);
  slow.ms = 0;
  await fleet.clock.advance("55s");
  expect(alerts).toEqual([]);
  await fleet.clock.advance("40s");
  expect(alerts).toMatchObject([{ detect: "stalled_task" }]);
});
