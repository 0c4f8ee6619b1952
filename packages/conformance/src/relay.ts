import type { Store } from "holdfast/adapter";
import { expect } from "vitest";
import { aStart, REPLACED } from "./fixture.ts";
import { Holder } from "./holder.ts";
import { bytes, end, newRun, suspend } from "./sample-data.ts";

export interface RelayIds {
  /** A version 7 UUID, another one each time. */
  readonly newId: () => string;
  readonly leaseMs?: number;
}

/**
 * One run in the hands of two stores on the same data in turn: what one has written, the other reads and continues. For builds that
 * know different schemas.
 */
export async function relay(first: Store, second: Store, { newId, leaseMs = 60_000 }: RelayIds): Promise<void> {
  const [runId, one, other] = [newId(), newId(), newId()];
  const ref = { namespace: "default", runId };
  await first.runs.start({ starts: [aStart(newRun(runId))], holdBy: null, replaceError: REPLACED });
  const held = await claim(second, other);
  expect(await held.commit(suspend(null), { events: 2, attributes: { stage: "new" } })).toMatchObject({
    outcome: "written",
  });
  const message = { to: ref, kind: "signal", name: "go", messageId: newId(), payload: bytes("1") } as const;
  expect((await second.inbox.deliver({ messages: [message], inboxMax: 10 })).outcomes).toMatchObject([
    { outcome: "delivered" },
  ]);
  const again = await claim(first, one);
  const [history = []] = await first.histories.read({ runs: [{ ...ref, afterSeq: 0 }], limitPerRun: 10 });
  expect(history).toHaveLength(2);
  expect(await again.commit(end(), { events: 1, consumed: 1 })).toMatchObject({ outcome: "written" });
  const [run] = await second.runs.read({ runs: [ref] });
  expect(run).toMatchObject({ status: "completed", eventCount: 3, attributes: { stage: "new" } });
  await first.workers.stop({ namespace: "default", workerId: one });
  await second.workers.stop({ namespace: "default", workerId: other });

  async function claim(store: Store, workerId: string): Promise<Holder> {
    const handlers = [{ workflow: "order", version: "1" }];
    const worker = { namespace: "default", name: "relay", queues: ["default"], workflows: ["order"], labels: {} };
    await store.workers.register({ ...worker, workerId, leaseMs });
    const about = { namespace: "default", queues: ["default"], handlers, limit: 1, solo: false };
    const { runs } = await store.runs.claim({ ...about, workerId, claimId: newId(), again: false });
    expect(runs.map((claimed) => claimed.runId)).toEqual([runId]);
    return new Holder(store, workerId, runs[0] as (typeof runs)[number]);
  }
}
