/**
 * A year of schedules in virtual time, with leaders that crash. What should have fired comes from a calculation that shares no code
 * with the calendar. No worker executes the runs: they are ended and purged day by day, so that a year fits into a test.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import type { ScheduleDecision } from "../../src/model/schedule.ts";
import type { StoreMethod } from "../../src/ports/store-calls.ts";
import { SeededSource } from "../../src/testing/seeded-source.ts";
import { Cluster, type Process } from "../lab/harness.ts";
import { type PlainCron, WalkedZone } from "./independent-calendar.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAYS = 365;
const YEAR = DAYS * 24 * HOUR;

/** Clocks are changed twice a year in the first two of them, and never in the third. */
const ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata"];
const CRASHES = 50;
const SEED = 7;

const upTo = (count: number, step = 1): Set<number> => new Set(Array.from({ length: count }, (_, i) => i * step));
const KINDS: readonly { readonly name: string; readonly cron: string; readonly plain: PlainCron }[] = [
  { name: "five", cron: "*/5 * * * *", plain: { isDay: () => true, hours: upTo(24), minutes: upTo(12, 5) } },
  { name: "daily", cron: "30 2 * * *", plain: { isDay: () => true, hours: new Set([2]), minutes: new Set([30]) } },
];

const METHODS: readonly StoreMethod[] = [
  "schedules.due",
  "schedules.putIfRevision",
  "workers.heartbeat",
  "workers.sweep",
];

const job = workflow("job", async (ctx) => ctx.info.schedule);

interface Crash {
  readonly method: StoreMethod;
  readonly moment: "before" | "after";
}

/** Two processes with a worker each. The leader crashes at calls that are drawn, and another process is started later. */
class Fleet {
  readonly cluster = new Cluster({ lookMs: HOUR });
  readonly #random = new SeededSource(SEED);
  readonly #planned: Crash[] = [];
  /** The crashes that have happened. */
  readonly crashes: string[] = [];
  readonly warnings: string[] = [];

  constructor() {
    Object.assign(this.cluster.log, { warn: (_: object, message: string) => void this.warnings.push(message) });
  }

  draw(count: number): number {
    return Math.floor(this.#random.next() * count);
  }

  /** From this time on, the leader crashes at its next call of a method that is drawn, before or after the call takes effect. */
  planCrash(inMs: number): void {
    const method = METHODS[this.draw(METHODS.length)] as StoreMethod;
    const moment = this.draw(2) === 0 ? "before" : "after";
    this.cluster.clock.setTimer(inMs, () => this.#planned.push({ method, moment }));
  }

  async start(): Promise<Process> {
    const made: Process = this.cluster.process(undefined, async (method, _params, next) => {
      const { leader } = this.cluster.store.state;
      const [crash] = this.#planned;
      if (leader === null || leader.workerId !== worker.workerId || crash?.method !== method) return next();
      this.#planned.shift();
      if (crash.moment === "after") await next();
      made.kill();
      this.crashes.push(`${crash.moment} ${method}`);
      this.cluster.clock.setTimer(this.draw(90) * MINUTE, () => void this.start());
      // Nothing comes of it any more.
      return next();
    });
    // With a lease of an hour a year has few heartbeats, and each crash costs several times.
    const worker = made.makeWorker({
      workflows: [job],
      queues: ["a queue without runs"],
      lease: "1h",
      tuning: { claimFallbackMs: HOUR },
    });
    await worker.start();
    return made;
  }
}

/** What schedules have fired, read from the store day by day. */
class Harvest {
  readonly #cluster: Cluster;
  /** The times of each schedule that have had a run, in the order in which they were found. */
  readonly times = new Map<string, number[]>();
  readonly faults: string[] = [];

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Notes the runs that there are, compares them with the decisions, and removes them. */
  async gather(): Promise<void> {
    const { store, clock } = this.#cluster;
    const runIds = new Map<string, string>();
    for (const { id, runId, attributes } of store.state.runs.values()) {
      runIds.set(id, runId);
      const [schedule = "", iso = ""] = id.split("@");
      if (attributes["holdfast.schedule"] !== schedule || attributes["holdfast.scheduledAt"] !== iso)
        this.faults.push(`${id}: the run says ${JSON.stringify(attributes)}`);
      const known = this.times.get(schedule);
      if (known) known.push(Date.parse(iso));
      else this.times.set(schedule, [Date.parse(iso)]);
    }
    for (const { id, decisions } of store.state.schedules.values()) this.#compare(id, decisions, runIds);
    const runs = [...runIds.keys()].map((id) => ({ namespace: "default", id }));
    await this.#cluster.until(store.runs.terminate({ runs, error: { name: "Error", message: "", kind: "Unknown" } }));
    const endedBefore = clock.now() + 1;
    await this.#cluster.until(store.runs.purge({ namespace: "default", endedBefore, limit: 100_000 }));
    if (store.state.runs.size > 0) this.faults.push(`${store.state.runs.size} runs were not purged`);
  }

  /** The last hundred decisions are about the last hundred times; those of this day have the run that they name. */
  #compare(id: string, decisions: readonly ScheduleDecision[], runIds: ReadonlyMap<string, string>): void {
    const latest = (this.times.get(id) ?? []).slice(-100);
    if (decisions.map(({ at }) => at).join() !== latest.join()) this.faults.push(`${id}: other times were decided`);
    for (const { at, what, runId } of decisions) {
      const known = runIds.get(`${id}@${new Date(at).toISOString()}`);
      if (what !== "fired" || (known !== undefined && runId !== known))
        this.faults.push(`${id}: ${what} at ${at}, run ${runId}, but the store has ${known}`);
    }
  }
}

describe("a year of a five-minute and of a daily 02:30 schedule in virtual time", () => {
  const fleet = new Fleet();
  const { cluster } = fleet;
  const from = cluster.clock.now();
  const zones = ZONES.map((timezone) => ({ timezone, walked: new WalkedZone(timezone, from, from + YEAR + HOUR) }));
  const harvest = new Harvest(cluster);

  beforeAll(async () => {
    const { client } = await cluster.until(fleet.start());
    await cluster.until(fleet.start());
    const until = new Date(from + YEAR);
    for (const timezone of ZONES)
      for (const { name, cron } of KINDS)
        await cluster.until(
          client.schedules.create({
            id: `${name} ${timezone}`,
            workflow: job,
            cron,
            timezone,
            until,
            overlap: "allow",
          }),
        );
    const changes = zones.flatMap(({ walked }) => walked.changedAt());
    // Two crashes around every change of the clocks, and the others anywhere.
    for (const at of changes) for (const early of [HOUR, 0]) fleet.planCrash(at - early + fleet.draw(HOUR) - from);
    for (let i = 2 * changes.length; i < CRASHES; i++) fleet.planCrash(fleet.draw(YEAR - 24 * HOUR));
    for (let day = 0; day < DAYS; day++) {
      await cluster.clock.advance("1 day");
      await harvest.gather();
    }
    // A leader may have crashed just now.
    await cluster.clock.advance("3h");
    await harvest.gather();
  }, 300_000);

  test("fires exactly as an independent calculation says, in three time zones, across four clock changes and 50 crashes of the leader", () => {
    expect(zones.flatMap(({ walked }) => walked.changedAt())).toHaveLength(4);
    expect(fleet.crashes).toHaveLength(CRASHES);
    for (const method of METHODS)
      for (const moment of ["before", "after"]) expect(fleet.crashes).toContain(`${moment} ${method}`);
    for (const { timezone, walked } of zones)
      for (const { name, plain } of KINDS) {
        const wanted = walked.times(plain).filter((at) => at > from && at <= from + YEAR);
        const fired = harvest.times.get(`${name} ${timezone}`) ?? [];
        expect(fired.length).toBe(wanted.length);
        expect(fired.findIndex((at, i) => at !== wanted[i])).toBe(-1);
      }
    expect(harvest.times.get("five Asia/Kolkata")).toHaveLength(YEAR / (5 * MINUTE));
  });

  test("decides each time once: fired, with the run that the store has", () => {
    expect(harvest.faults).toEqual([]);
    expect(fleet.warnings.filter((line) => line.includes("taken"))).toEqual([]);
    expect(cluster.errors).toEqual([]);
  });
});
