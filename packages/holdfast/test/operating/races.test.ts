import { workflow } from "holdfast";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RunHandle } from "../../src/client/run-handle.ts";
import type { StoreMethod } from "../../src/ports/store-calls.ts";
import { deferred } from "../lab/deferred.ts";
import { Cluster, faultsInStore, outcomeUnknown, type Process, type StoreHook, Valve } from "../lab/harness.ts";

const nap = workflow("nap", async (ctx) => {
  await ctx.sleep("nap", "1h");
  return "rested";
});

function openCluster(): Cluster {
  const cluster = new Cluster();
  onTestFinished(() => {
    expect(faultsInStore(cluster.store)).toEqual([]);
    expect(unparkedFaults(cluster)).toEqual([]);
  });
  return cluster;
}

/** O1: an open run is parked exactly when the last of its parks and resumes is a park. */
function unparkedFaults(cluster: Cluster): string[] {
  return [...cluster.store.state.runs.values()]
    .filter(({ endedAt }) => endedAt === null)
    .filter(({ id, status }) => {
      const last = cluster.eventsOf(id).findLast(({ type }) => type === "run_parked" || type === "run_resumed");
      return (status === "parked") !== (last?.type === "run_parked");
    })
    .map(({ id, status }) => `${id} is ${status}`);
}

/** Does something right before, or right after, the first call of the method. */
function around(method: StoreMethod, moment: "before" | "after", act: () => unknown): StoreHook {
  let done = false;
  return async (called, _params, next) => {
    const now = called === method && !done;
    if (now) done = true;
    if (now && moment === "before") await act();
    const answer = await next();
    if (now && moment === "after") await act();
    return answer;
  };
}

/** The answers of the first calls of the method are lost; `meanwhile` happens before each is repeated. */
function losing(method: StoreMethod, meanwhile: () => unknown = () => {}): StoreHook {
  return around(method, "after", async () => {
    await meanwhile();
    throw outcomeUnknown();
  });
}

/** Pauses the run, and does something while that call is on its way to the store. */
async function during(cluster: Cluster, id: string, method: StoreMethod, act: () => Promise<void>): Promise<void> {
  const valve = new Valve(method, "calls");
  valve.shut();
  const paused = cluster.process("operator", valve.hook).client.get(id).pause();
  await cluster.when(() => valve.waiting === 1);
  await act();
  valve.open();
  await cluster.until(paused);
}

const typesOf = (cluster: Cluster, id: string): string[] => cluster.eventsOf(id).map(({ type }) => type);
const notesOf = (cluster: Cluster, id: string): string[] =>
  typesOf(cluster, id).filter((type) => ["pause_requested", "run_parked", "run_resumed"].includes(type));

/** A sleeping run, and a handle on it in a process with that hook. */
async function sleeping(cluster: Cluster, hook?: StoreHook): Promise<{ first: Process; run: RunHandle }> {
  const first = cluster.process("worker");
  await first.worker({ workflows: [nap] });
  await cluster.until(first.client.start(nap, undefined, { id: "n" }));
  await cluster.when(() => cluster.runOf("n").status === "sleeping");
  return { first, run: cluster.process("operator", hook).client.get("n") };
}

describe("a pause whose answer was lost", () => {
  test("is one pause when it is repeated", async () => {
    const cluster = openCluster();
    const { run } = await sleeping(cluster, losing("runs.pauseIfIdle"));
    await cluster.until(run.pause());
    expect(cluster.runOf("n").status).toBe("parked");
    expect(notesOf(cluster, "n")).toEqual(["run_parked"]);
  });

  test("is not repeated if somebody has resumed the run since", async () => {
    const cluster = openCluster();
    const other = cluster.process("other").client.get("n");
    const { run } = await sleeping(
      cluster,
      losing("runs.pauseIfIdle", () => other.resume({ by: "other" })),
    );
    await cluster.until(run.pause());
    expect(notesOf(cluster, "n")).toEqual(["run_parked", "run_resumed"]);
    expect(cluster.runOf("n").status).not.toBe("parked");
  });

  test("is one message if a worker holds the run", async () => {
    const cluster = openCluster();
    const gate = deferred<string>();
    const busy = workflow("busy", (ctx) => ctx.step("work", () => gate.promise));
    await cluster.process("worker").worker({ workflows: [busy] });
    const starter = cluster.process("starter").client;
    await cluster.until(starter.start(busy, undefined, { id: "b" }));
    await cluster.when(() => cluster.count("b", "work") === 1);
    const run = cluster.process("operator", losing("inbox.deliver")).client.get("b");
    await cluster.until(run.pause());
    gate.resolve("done");
    await cluster.when(() => cluster.runOf("b").endedAt !== null);
    expect(notesOf(cluster, "b")).toEqual(["pause_requested"]);
  });
});

describe("a pause", () => {
  test("finds the run claimed meanwhile, and becomes a message", async () => {
    const cluster = openCluster();
    const gate = deferred<void>();
    const late = workflow("late", async (ctx) => {
      await ctx.step("work", () => gate.promise);
      await ctx.step("more", () => {});
    });
    const worker = cluster.process("worker");
    const starter = cluster.process("starter").client;
    await cluster.until(starter.start(late, undefined, { id: "l" }));
    await during(cluster, "l", "runs.pauseIfIdle", async () => {
      await worker.worker({ workflows: [late] });
      await cluster.when(() => cluster.count("l", "work") === 1);
    });
    gate.resolve();
    await cluster.when(() => cluster.runOf("l").status === "parked");
    expect(typesOf(cluster, "l")).toEqual(["pause_requested", "step_completed", "run_parked"]);
    expect(cluster.count("l", "more")).toBe(0);
  });

  test("as a message finds the run suspended meanwhile, and wakes it to park it", async () => {
    const cluster = openCluster();
    const gate = deferred<void>();
    const late = workflow("late", async (ctx) => {
      await ctx.step("work", () => gate.promise);
      await ctx.sleep("nap", "1h");
    });
    await cluster.process("worker").worker({ workflows: [late] });
    const starter = cluster.process("starter").client;
    await cluster.until(starter.start(late, undefined, { id: "l" }));
    await cluster.when(() => cluster.count("l", "work") === 1);
    await during(cluster, "l", "inbox.deliver", async () => {
      gate.resolve();
      await cluster.when(() => cluster.runOf("l").heldBy === null);
    });
    await cluster.when(() => cluster.runOf("l").status === "parked");
    expect(notesOf(cluster, "l")).toEqual(["pause_requested", "run_parked"]);
  });

  test("as a message finds the run parked for a bug meanwhile, and pauses it there", async () => {
    const cluster = openCluster();
    const gate = deferred<void>();
    const buggy = workflow("buggy", async (ctx) => {
      await ctx.step("work", () => gate.promise);
      (undefined as unknown as { fail(): void }).fail();
    });
    await cluster.process("worker").worker({ workflows: [buggy] });
    const starter = cluster.process("starter").client;
    await cluster.until(starter.start(buggy, undefined, { id: "b" }));
    await cluster.when(() => cluster.count("b", "work") === 1);
    await during(cluster, "b", "inbox.deliver", async () => {
      gate.resolve();
      await cluster.when(() => cluster.runOf("b").status === "parked");
    });
    expect(cluster.runOf("b")).toMatchObject({ status: "parked", error: { code: "paused" } });
    expect(notesOf(cluster, "b")).toEqual(["run_parked", "run_parked"]);
  });

  test("finds that the run has ended meanwhile", async () => {
    const cluster = openCluster();
    const ended = () => cluster.process("other").client.get("n").terminate();
    const { run } = await sleeping(cluster, around("runs.pauseIfIdle", "before", ended));
    await expect(cluster.until(run.pause())).rejects.toMatchObject({ code: "run_closed" });
  });

  test("of a run with an unread cancel lets the cancel win", async () => {
    const cluster = openCluster();
    const client = cluster.process("starter").client;
    await cluster.until(client.start(nap, undefined, { id: "n", delay: "1 day" }));
    const run = client.get("n");
    await cluster.until(run.cancel());
    await cluster.until(run.pause({ by: "ana" }));
    await cluster.process("worker").worker({ workflows: [nap] });
    await cluster.when(() => cluster.runOf("n").endedAt !== null);
    expect(cluster.runOf("n").status).toBe("canceled");
  });
});

describe("a resume", () => {
  test("whose answer was lost is one resume when it is repeated, also if the run is parked again meanwhile", async () => {
    const cluster = openCluster();
    const other = cluster.process("other").client.get("n");
    const { run } = await sleeping(
      cluster,
      losing("runs.resumeIfParked", () => other.pause({ by: "other" })),
    );
    await cluster.until(other.pause());
    await cluster.until(run.resume());
    await cluster.when(() => cluster.runOf("n").status === "parked");
    expect(notesOf(cluster, "n").filter((type) => type === "run_resumed")).toHaveLength(1);
  });

  test("is not lost behind a pause: the message overtakes the park, or finds the run parked", async () => {
    for (const moment of ["before", "after"] as const) {
      const cluster = openCluster();
      const gate = deferred<void>();
      const busy = workflow("busy", async (ctx) => {
        await ctx.step("work", () => gate.promise);
        return ctx.step("more", () => "done");
      });
      const operator = cluster.process("operator").client;
      // The resume arrives while the commit that parks the run is on its way.
      let parks = 0;
      const hook: StoreHook = async (method, params, next) => {
        const commits = method === "runs.commit" ? (params as { commits: { transition: object }[] }).commits : [];
        const isPark = commits.some(({ transition }) => "type" in transition && transition.type === "park");
        if (!isPark || parks++ > 0) return next();
        if (moment === "before") await operator.get("b").resume({ by: "ben" });
        const answer = await next();
        if (moment === "after") await operator.get("b").resume({ by: "ben" });
        return answer;
      };
      await cluster.process("worker", hook).worker({ workflows: [busy] });
      await cluster.until(operator.start(busy, undefined, { id: "b" }));
      await cluster.when(() => cluster.count("b", "work") === 1);
      await cluster.until(operator.get("b").pause({ by: "ana" }));
      gate.resolve();
      await cluster.when(() => cluster.runOf("b").endedAt !== null);
      expect(cluster.runOf("b").status).toBe("completed");
      expect(notesOf(cluster, "b")).toEqual(
        moment === "before" ? ["pause_requested", "run_resumed"] : ["pause_requested", "run_parked", "run_resumed"],
      );
    }
  });

  test("lets what the pause held up begin once it is durable, and not before", async () => {
    const cluster = openCluster();
    const [short, long] = [deferred(), deferred()];
    let followed = false;
    const busy = workflow("busy", async (ctx) => {
      await ctx.parallel({
        long: () => ctx.step("long", () => long.promise),
        short: async () => {
          await ctx.step("short", () => short.promise);
          await ctx.step("next", () => {
            followed = true;
          });
        },
      });
    });
    const valve = new Valve("runs.commit", "calls");
    const worker = cluster.process("worker", valve.hook);
    await worker.worker({ workflows: [busy] });
    const run = await cluster.until(worker.client.start(busy, undefined, { id: "b" }));
    await cluster.when(() => cluster.count("b", "long") + cluster.count("b", "short") === 2);
    const operator = cluster.process("operator").client.get("b");
    await cluster.until(operator.pause());
    await cluster.when(() => typesOf(cluster, "b").includes("pause_requested"));
    short.resolve();
    await cluster.when(() => typesOf(cluster, "b").includes("step_completed"));
    valve.shut();
    await cluster.until(operator.resume());
    await cluster.when(() => valve.waiting === 1);
    await cluster.clock.advance("100ms");
    expect(followed).toBe(false);
    valve.open();
    await cluster.when(() => followed);
    long.resolve();
    await cluster.until(run.result());
  });

  test("also undoes a pause that the run could not read before it was parked for a bug", async () => {
    const cluster = openCluster();
    const gate = deferred<void>();
    const buggy = (broken: boolean) =>
      workflow("buggy", async (ctx) => {
        await ctx.step("work", () => gate.promise);
        if (broken) (undefined as unknown as { fail(): void }).fail();
        return "done";
      });
    const worker = cluster.process("worker");
    const bad = await worker.worker({ workflows: [buggy(true)] });
    const client = cluster.process("operator").client;
    await cluster.until(client.start(buggy(true), undefined, { id: "b" }));
    await cluster.when(() => cluster.count("b", "work") === 1);
    // No hint: the worker learns of the message too late.
    cluster.hints.loses = (hint) => hint.type === "inbox";
    await cluster.until(client.get("b").pause({ by: "ana" }));
    gate.resolve();
    await cluster.when(() => cluster.runOf("b").status === "parked");
    expect(cluster.runOf("b").error?.code).toBe("workflow_bug");
    await cluster.until(bad.stop());
    await cluster.until(client.get("b").resume({ by: "ben" }));
    await cluster.process("fixed").worker({ workflows: [buggy(false)] });
    await cluster.when(() => cluster.runOf("b").endedAt !== null);
    expect(cluster.runOf("b").status).toBe("completed");
  });

  test("and a pause at the same time, many of each, leave one event for each change", async () => {
    const cluster = openCluster();
    await sleeping(cluster);
    const clients = [1, 2, 3, 4].map((n) => cluster.process(`c${n}`).client.get("n"));
    for (let round = 0; round < 5; round++)
      await cluster.until(Promise.all(clients.map((run, i) => (i % 2 === round % 2 ? run.pause() : run.resume()))));
    const notes = notesOf(cluster, "n");
    // A run that is pausing may be resumed before it is parked.
    const changes = notes.filter((type, i) => type === notes[i - 1]);
    expect(changes).toEqual([]);
    await cluster.until((clients[0] as RunHandle).resume());
    await cluster.when(() => cluster.runOf("n").endedAt !== null, "2h");
    expect(cluster.runOf("n").status).toBe("completed");
  });
});
