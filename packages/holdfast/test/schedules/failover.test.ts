import { describe, expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import { SWEEP_MS_MIN } from "../../src/engine/lease/sweeper.ts";
import type { Timer } from "../../src/ports/clock.ts";
import type { Environment } from "../../src/ports/environment.ts";
import { Cluster, type Process, type StoreHook, unavailable } from "../lab/harness.ts";

const job = workflow("job", async (ctx) => ctx.info.schedule);

const leaderOf = ({ store }: Cluster): string | undefined => store.state.leader?.workerId;

/** Advances time up to that one. */
async function upTo({ clock }: Cluster, at: number): Promise<void> {
  await clock.advance({ milliseconds: at - clock.now() });
}

/** A schedule that is due every second, with the shortest catch-up window there is, and a function that says which of its times were fired, and which should have been. */
async function everySecond(cluster: Cluster, { client }: Process): Promise<() => Record<"fired" | "due", number[]>> {
  const from = cluster.clock.now();
  await cluster.until(
    client.schedules.create({ id: "s", workflow: job, every: "1s", overlap: "allow", catchUp: { window: "1m" } }),
  );
  return () => {
    const fired = [...cluster.store.state.runs.values()].map(({ id }) => Date.parse(id.slice("s@".length)));
    const due: number[] = [];
    for (let at = Math.floor(from / 1_000 + 1) * 1_000; at <= cluster.clock.now(); at += 1_000) due.push(at);
    return { fired: fired.sort((a, b) => a - b), due };
  };
}

/** A process that can be killed this long after one of its heartbeats, and before the next one. */
class Victim {
  readonly #cluster: Cluster;
  readonly #afterMs: number;
  readonly process: Process;
  #timer: Timer | undefined;
  #doomed = false;

  constructor(cluster: Cluster, afterMs: number) {
    this.#cluster = cluster;
    this.#afterMs = afterMs;
    this.process = cluster.process("victim", async (method, _params, next) => {
      const answer = await next();
      if (method === "workers.heartbeat") this.#beaten();
      return answer;
    });
  }

  #beaten(): void {
    this.#timer?.cancel();
    if (this.#doomed) this.#timer = this.#cluster.clock.setTimer(this.#afterMs, () => this.process.kill());
  }

  /** Returns when its lease ends. */
  async killed(workerId: string): Promise<number> {
    this.#doomed = true;
    await this.#cluster.when(() => this.process.life.dead);
    return this.#cluster.store.state.workers.get(workerId)?.leaseExpiresAt as number;
  }
}

/** Phases of a heartbeat, in milliseconds after it. */
const PHASES = [1, 249, 251, 2_500, 4_999, 6_001, 7_500, 9_749, 9_751, 9_999];
/** How much later than the leader its successor was started. */
const DELAYS = [0, 100, 3_333, 5_000, 9_950];

describe("a leader that is killed is replaced when its lease has ended, by the next sweep, and what was due is fired at once", () => {
  test.each(PHASES)("%i ms after a heartbeat", async (afterMs) => {
    for (const laterMs of DELAYS) {
      const cluster = new Cluster();
      const victim = new Victim(cluster, afterMs);
      const { workerId } = await victim.process.worker({ workflows: [job] });
      await cluster.clock.advance({ milliseconds: laterMs });
      const second = cluster.process("second");
      await second.worker({ workflows: [job] });
      const times = await everySecond(cluster, second);
      await cluster.clock.advance("45s");
      const end = await victim.killed(workerId);
      await upTo(cluster, end - 1);
      expect(leaderOf(cluster)).toBe(workerId);
      await upTo(cluster, end + SWEEP_MS_MIN);
      expect(leaderOf(cluster)).not.toBe(workerId);
      const { fired, due } = times();
      expect(fired).toEqual(due);
    }
  });

  test.each(PHASES)(
    "%i ms after a heartbeat, also if the successor may not sweep and another worker does",
    async (afterMs) => {
      const cluster = new Cluster();
      const victim = new Victim(cluster, afterMs);
      const { workerId } = await victim.process.worker({ workflows: [job] });
      await cluster.process("sweeps").worker({ workflows: [job], coordinate: false });
      let failing = false;
      // After an outage, a worker judges no others for a whole lease.
      const outage: StoreHook = async (method, _params, next) => {
        if (!failing || method !== "workers.heartbeat") return next();
        failing = false;
        throw unavailable();
      };
      const second = cluster.process("second", outage);
      const successor = await second.worker({ workflows: [job] });
      const times = await everySecond(cluster, second);
      await cluster.clock.advance("45s");
      const end = await victim.killed(workerId);
      failing = true;
      await cluster.when(() => !failing);
      await upTo(cluster, end - 1);
      expect(leaderOf(cluster)).toBe(workerId);
      await upTo(cluster, end + SWEEP_MS_MIN);
      expect(leaderOf(cluster)).toBe(successor.workerId);
      const { fired, due } = times();
      expect(fired).toEqual(due);
    },
  );
});

describe("a leader that is replaced by a worker of its name on its host", () => {
  const on = (pid: number): Environment => ({
    host: "h",
    pid,
    inPool: false,
    workerIds: new Set(),
    workerName: () => "w",
    isGone: (other) => other !== pid,
    programDigest: () => undefined,
  });

  test("is succeeded by it at once", async () => {
    const cluster = new Cluster();
    const first = cluster.process("first", undefined, on(1));
    await first.worker({ name: "w", workflows: [job] });
    const times = await everySecond(cluster, first);
    await cluster.clock.advance("45s");
    first.kill();
    await cluster.clock.advance("2s");
    const again = await cluster.process("again", undefined, on(2)).worker({ name: "w", workflows: [job] });
    await cluster.clock.settle();
    expect(leaderOf(cluster)).toBe(again.workerId);
    const { fired, due } = times();
    expect(fired).toEqual(due);
  });

  test("is succeeded at once by another one that may lead, if its namesake may not", async () => {
    const cluster = new Cluster();
    const first = cluster.process("first", undefined, on(1));
    await first.worker({ name: "w", workflows: [job] });
    const other = await cluster.process("other").worker({ workflows: [job] });
    const times = await everySecond(cluster, first);
    await cluster.clock.advance("45s");
    first.kill();
    await cluster.clock.advance("2s");
    const again = cluster.process("again", undefined, on(2));
    await again.worker({ name: "w", workflows: [job], coordinate: false });
    await cluster.clock.settle();
    expect(leaderOf(cluster)).toBe(other.workerId);
    const { fired, due } = times();
    expect(fired).toEqual(due);
  });
});
