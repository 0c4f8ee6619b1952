import type { Bench } from "../lab/bench.ts";
import type { Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { STORES, type Workload } from "../lab/workload.ts";
import { pause, within } from "./flow.ts";

const ID = "cold";
const EVENTS_PER_COMMIT = 1_000;
/** What a worker leaves unpacked. */
const REST = 500;

export const cold: Workload = {
  name: "cold",
  title: "A cold claim of a run with 100,000 steps behind it",
  about:
    "A run has done its steps and waits. A process that has never seen it gets it with an update, replays all of it, and answers: from sending the update to its answer. First with one row per event, and then, in another process, with the segments that the first one has packed in the background.",
  sizes: {
    tiny: { events: 1_200, opsMax: 1_000_000 },
    normal: { events: 100_000, opsMax: 1_000_000 },
    full: { events: 100_000, opsMax: 1_000_000 },
  },
  measure,
  parts: { fill, plain, packed },
  shown: [
    { figure: "msPacked", title: "ms, from segments", digits: 0, better: "lower", chart: true },
    { figure: "msPlain", title: "ms, from events", digits: 0, better: "lower" },
    { figure: "cpuMsPacked", title: "ms of Node's processor time, from segments", digits: 0, better: "lower" },
    { figure: "cpuMsPlain", title: "ms of Node's processor time, from events", digits: 0, better: "lower" },
    { figure: "bytesPerEvent", title: "bytes of segments per event", digits: 1, better: "lower" },
  ],
  goals: STORES.map(([store, title]) => ({
    text: `a cold claim of 100,000 steps on ${title}`,
    figure: (m) => m.value("cold", `holdfast-${store}`, "msPacked"),
    atMost: 1_000,
    unit: "ms",
  })),
};

async function measure(bench: Bench): Promise<Figures> {
  await bench.start("fill", { clientOnly: true }).figures;
  const before = await bench.start("plain", { again: true }).figures;
  const after = await bench.start("packed", { again: true }).figures;
  return { ...before, ...after };
}

/** Writes the history of a `talk`, as its worker would have. */
async function fill({ job, size }: Inside): Promise<Figures> {
  const { events = 1 } = size;
  const { BareLoop, HOLD, RESULT, newId } = await import("../limits/bare-loop.ts");
  const loop = await BareLoop.open(storeOf(job.engine), job.url);
  try {
    const { store, workerId } = loop;
    const runId = newId();
    const place = { namespace: "default", workflow: "talk", version: "1", queue: "default", priority: 0 };
    const input = new TextEncoder().encode(JSON.stringify({ id: ID, arg: events }));
    const run = { ...place, runId, id: ID, input, seed: runId, attributes: {} };
    const start = { run, hold: true, ifRunning: "return", ifClosed: "return", pick: null } as const;
    const replaceError = { name: "Error", message: "", kind: "Unknown" } as const;
    await store.runs.start({ starts: [start], holdBy: { workerId, claimId: newId() }, replaceError });
    for (let commit = 0, done = 0; done < events; commit++) {
      const count = Math.min(EVENTS_PER_COMMIT, events - done);
      const some = Array.from({ length: count }, (_, i) => {
        const seq = done + i + 1;
        return { seq, type: "step_completed", op: `s${seq}`, at: Date.now(), payload: RESULT } as const;
      });
      done += count;
      const rest = { type: "suspend", status: "waiting", availableAt: null, waitingFor: ["go"] } as const;
      const nothing = { consumed: 0, attributes: null, clearDeadline: false } as const;
      const transition = done < events ? HOLD : rest;
      const head = { namespace: "default", runId, workerId, epoch: 1, commit, eventCount: done };
      const { outcomes } = await store.runs.commit({ commits: [{ ...head, events: some, ...nothing, transition }] });
      if (outcomes[0]?.outcome !== "written") throw new Error("the history was not written");
    }
    return {};
  } finally {
    await loop.close();
  }
}

async function plain(inside: Inside): Promise<Figures> {
  const { ms, cpuMs } = await answer(inside);
  const bytes = await within(untilPacked(inside), "packing");
  return { msPlain: ms, cpuMsPlain: cpuMs, bytesPerEvent: bytes / (inside.size["events"] ?? 1) };
}

async function packed(inside: Inside): Promise<Figures> {
  const { ms, cpuMs } = await answer(inside);
  return { msPacked: ms, cpuMsPacked: cpuMs, stepsTooMany: inside.hooks.steps };
}

async function answer({ engine }: Inside): Promise<{ ms: number; cpuMs: number }> {
  if (!engine.update) throw new Error("this engine has no updates");
  const cpu = process.cpuUsage();
  const began = performance.now();
  await within(engine.update(ID, 1), "a cold claim");
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - began, cpuMs: (user + system) / 1_000 };
}

/** Returns how many bytes the segments have. */
async function untilPacked({ job, size }: Inside): Promise<number> {
  const { BareLoop } = await import("../limits/bare-loop.ts");
  const { events = 1 } = size;
  const loop = await BareLoop.open(storeOf(job.engine), job.url);
  try {
    const [run] = await loop.store.runs.read({ runs: [{ namespace: "default", id: ID }] });
    const runs = [{ namespace: "default", runId: run?.runId ?? "", afterSeq: 0 }];
    for (;;) {
      const [found] = await loop.store.segments.read({ runs, limitPerRun: events });
      const segments = found?.segments ?? [];
      if ((segments.at(-1)?.lastSeq ?? 0) > events - REST)
        return segments.reduce((sum, { bytes }) => sum + bytes.length, 0);
      await pause(100);
    }
  } finally {
    await loop.close();
  }
}

function storeOf(engine: string): "postgres" | "sqlite" {
  return engine === "holdfast-sqlite" ? "sqlite" : "postgres";
}
