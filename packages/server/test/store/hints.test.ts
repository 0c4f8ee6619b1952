import { describe, expect, test } from "vitest";
import { newId, open, register, until, WORKER } from "./session-lab.ts";

describe("hints", () => {
  test("come for the queues of registered workers, for watched runs, and for nothing else", async () => {
    const { store, behind, opened } = await open({ tenant: true });
    const heard: string[] = [];
    opened.notifier.subscribe((hint) =>
      heard.push(`${hint.type} ${"queue" in hint ? hint.queue : "runId" in hint ? hint.runId : ""}`),
    );
    await register(store, { queues: ["mine"] });
    const stop = opened.notifier.watch?.(["r1"]);
    await store.readClock();
    behind.notifier.publish([
      { type: "due", namespace: "default", queue: "mine" },
      { type: "due", namespace: "default", queue: "other" },
      { type: "due", namespace: "elsewhere", queue: "mine" },
      { type: "ended", namespace: "default", runId: "r1" },
      { type: "ended", namespace: "default", runId: "r2" },
      { type: "inbox", runId: "r3", workerId: WORKER },
      { type: "inbox", runId: "r4", workerId: newId() },
      { type: "schedule" },
    ]);
    await until(() => heard.length >= 3);
    expect(heard).toEqual(["due mine", "ended r1", "inbox r3"]);
    stop?.();
    await store.readClock();
    behind.notifier.publish([
      { type: "ended", namespace: "default", runId: "r1" },
      { type: "due", namespace: "default", queue: "mine" },
    ]);
    await until(() => heard.length >= 4);
    expect(heard.at(-1)).toBe("due mine");
  });

  test("about a run that are a moment early reach whoever asks for them", async () => {
    const { behind, opened, store } = await open({ tenant: true });
    behind.notifier.publish([{ type: "replied", runId: "r1" }]);
    await store.readClock();
    const heard: string[] = [];
    opened.notifier.subscribe((hint) => heard.push(hint.type));
    opened.notifier.watch?.(["r1"]);
    await until(() => heard.length > 0);
    expect(heard).toEqual(["replied"]);
  });

  test("that a client does not take are dropped, and it is told once to look", async () => {
    const { behind, opened, store, wire } = await open({ tenant: true, limits: { unsentHintsMax: 10 } });
    await register(store, { queues: ["mine"] });
    await store.readClock();
    const heard: string[] = [];
    opened.notifier.subscribe((hint) => heard.push(hint.type));
    behind.notifier.publish(Array.from({ length: 50 }, () => ({ type: "due", namespace: "default", queue: "mine" })));
    await until(() => heard.length > 0);
    expect(wire.responses.filter(({ control }) => control.case === "hintsLost")).toHaveLength(1);
    // Everything that this client could be waiting for.
    expect(heard.sort()).toEqual(["asked", "due", "task_due"]);
  });

  test("come for twenty thousand runs that somebody waits for at once, also after the stream was cut", async () => {
    const { behind, opened, store, wire } = await open({ tenant: true });
    const runIds = Array.from({ length: 20_000 }, newId);
    const last = runIds.at(-1) as string;
    const heard = new Set<string>();
    opened.notifier.subscribe((hint) => "runId" in hint && heard.add(hint.runId));
    opened.notifier.watch?.(runIds);
    await store.readClock();
    behind.notifier.publish([{ type: "ended", namespace: "default", runId: last }]);
    await until(() => heard.has(last));
    expect(wire.opened).toBe(1);
    wire.cut();
    await until(() => wire.opened === 2);
    await store.readClock();
    // Whoever waits was told to look.
    heard.clear();
    behind.notifier.publish([{ type: "ended", namespace: "default", runId: last }]);
    await until(() => heard.has(last));
    expect(wire.opened).toBe(2);
    expect([...heard]).toEqual([last]);
  });

  test("of what somebody begins to wait for while the stream is opened again are not lost", async () => {
    const { behind, opened, store, wire } = await open({ tenant: true });
    const heard: string[] = [];
    opened.notifier.subscribe((hint) => "runId" in hint && heard.push(hint.runId));
    await store.readClock();
    wire.faults = {
      // The server is about to greet the new session.
      response: ({ control }) => {
        if (control.case === "welcome") opened.notifier.watch?.(["r1"]);
        return "arrives";
      },
    };
    wire.cut();
    await until(() => wire.opened === 2);
    await store.readClock();
    heard.length = 0;
    behind.notifier.publish([{ type: "ended", namespace: "default", runId: "r1" }]);
    await until(() => heard.length > 0);
    expect(heard).toEqual(["r1"]);
  });

  test("after a gap, everybody who waits looks", async () => {
    const { wire, opened, store } = await open({ tenant: true });
    await register(store, { queues: ["mine"] });
    opened.notifier.watch?.(["r1"]);
    await store.readClock();
    const heard: string[] = [];
    opened.notifier.subscribe((hint) => heard.push(hint.type));
    wire.cut();
    await until(() => heard.length >= 4);
    expect(heard.sort()).toEqual(["asked", "due", "ended", "task_due"]);
  });
});
