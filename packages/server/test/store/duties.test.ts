import { SWEEP } from "@holdfast/conformance";
import { connect, silentLogger, workflow } from "holdfast";
import { VirtualClock } from "holdfast/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { longestLease, patientStore } from "../../src/store-service/duties.ts";
import { memoryStore, serve } from "./served-store.ts";

const WORKER = { workerId: "01890000-0000-7000-8000-000000000001", namespace: "default" };

describe("a server that starts", () => {
  test("declares nobody dead for one full lease, and everybody after it whose lease has expired", async () => {
    const clock = new VirtualClock();
    const { store } = memoryStore(clock);
    const lists = { name: "w", queues: ["default"], workflows: [], labels: {}, leaseMs: 1_000 };
    await store.workers.register({ ...WORKER, ...lists });
    await clock.advance("5s");
    const patient = patientStore(store, clock, 30_000);
    await clock.advance("29s");
    expect(await patient.workers.sweep(SWEEP)).toMatchObject({ dead: 0, nextExpiryAt: expect.any(Number) });
    await clock.advance("2s");
    expect(await patient.workers.sweep(SWEEP)).toMatchObject({ dead: 1 });
  });
});

describe("a server that starts among workers with long leases", () => {
  test("waits for the longest of them before its first sweep", async () => {
    const clock = new VirtualClock();
    const opened = memoryStore(clock);
    const { store, access } = opened;
    await access?.createNamespace({ name: "tenant", displayName: "", description: "" });
    const lists = { name: "w", queues: ["default"], workflows: [], labels: {}, leaseMs: 90_000 };
    await store.workers.register({ ...WORKER, namespace: "tenant", ...lists });
    expect(await longestLease(opened)).toBe(90_000);
    await store.workers.stop({ ...WORKER, namespace: "tenant" });
    expect(await longestLease(opened)).toBe(0);
  });
});

describe("the duties of a server", () => {
  test("are done for namespaces whose workers are all remote: schedules fire", async () => {
    const served = await serve(memoryStore());
    onTestFinished(() => served.close());
    const hf = await connect(served.url, { logger: silentLogger, namespace: "tenant" });
    onTestFinished(() => hf.close());
    const done: string[] = [];
    const tick = workflow("tick", (ctx) => ctx.step("tick", () => void done.push(ctx.info.id)));
    await hf.worker({ workflows: [tick] }).start();
    await hf.schedules.create({ id: "every second", workflow: tick, every: "1s" });
    for (let looks = 0; done.length === 0 && looks < 500; looks += 1)
      await new Promise<void>((resolve) => void setTimeout(resolve, 10)); // tidy-allow: schedules go by the time of day
    expect(done[0]).toContain("every second@");
    await hf.schedules.delete("every second");
  });
});
