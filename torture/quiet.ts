/** When nothing is left to happen: no run is open, and none owes anything to another. */
import type { Debt } from "holdfast/adapter";
import type { TortureClient } from "./torture-client.ts";

const LOOK_MS = 200;
const DEBTS_SHOWN = 100;
const OPEN = ["pending", "running", "sleeping", "waiting", "compensating", "parked"] as const;

/** Resumes runs that were parked because their workers died too often: not the runs' fault. Returns how many. */
export async function resumeParked({ client }: TortureClient): Promise<number> {
  let resumed = 0;
  for (const { id } of (await client.list({ status: "parked" })).runs) {
    const run = client.get(id);
    const { status, error } = await run.describe();
    if (status !== "parked" || error?.code !== "crash_loop") continue;
    await run.resume();
    resumed += 1;
  }
  return resumed;
}

/** Resolves with the debts that are left when nothing happens any more, or when the limit has passed. */
export async function untilQuiet(torture: TortureClient, limitMs: number): Promise<readonly Debt[]> {
  const endAt = performance.now() + limitMs;
  for (;;) {
    const debts = await torture.store.debts.read({ limit: DEBTS_SHOWN });
    const open = await torture.client.count({ status: [...OPEN] });
    if ((debts.length === 0 && open === 0) || performance.now() > endAt) return debts;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    await resumeParked(torture);
  }
}
