/**
 * Schedules that beat every second while the workers that fire them are killed. In each round they beat for a while; then the faults
 * stop, what was due must be dealt with, and the judge looks at every time. The first round with findings is the last.
 */
import { HoldfastError } from "holdfast";
import { SeededSource } from "holdfast/testing";
import type { OwnServer } from "../disturber.ts";
import type { Finding } from "../finding.ts";
import type { Stage } from "../stage.ts";
import { openTortureClient, type TortureClient } from "../torture-client.ts";
import { BeatFleet, pause } from "./beat-fleet.ts";
import { type Beat, beatsOf, foreign, foreignTimesOf, scheduleOf, timesOf } from "./beats.ts";
import { type BeatEvidence, judgeBeat } from "./judge-beats.ts";

const LEASE_MS = 1_000;
/** Each schedule remembers 100 decisions: a time has at most two of them. */
const ROUND_MS = 40_000;
/** From the creation of the schedules to their first time. */
const AHEAD_MS = 1_500;
/** Once the faults have stopped, everything must be dealt with in this time. */
const PEACE_MS = 60_000;
const BETWEEN_MS = 1_500;
const SERVER_DOWN = 0.05;

export interface BeatParams {
  readonly stage: Stage;
  readonly ms: number;
  readonly workers: number;
  readonly seed: number;
  /** Torture's own server, which may be crashed. */
  readonly server?: OwnServer | undefined;
  readonly onProgress?: (progress: BeatProgress) => void;
}

export interface BeatProgress {
  readonly elapsedMs: number;
  readonly rounds: number;
  readonly times: number;
  readonly runs: number;
  readonly kills: number;
}

export interface BeatResult extends BeatProgress {
  readonly killsAt: Readonly<Record<string, number>>;
  readonly leadersKilled: number;
  readonly zombies: number;
  readonly connectionsEnded: number;
  readonly databaseCrashes: number;
  readonly decisions: Readonly<Record<string, number>>;
  readonly findings: readonly Finding[];
  readonly accidents: readonly string[];
}

export async function runBeats(params: BeatParams): Promise<BeatResult> {
  const { stage, workers, seed } = params;
  const source = new SeededSource(seed);
  const random = (): number => source.next();
  const torture = await openTortureClient(stage.place);
  const fleet = await BeatFleet.open({ place: stage.place, leaseMs: LEASE_MS, size: workers, random });
  const campaign = new BeatCampaign(params, torture, fleet, random);
  try {
    return await campaign.run();
  } finally {
    await fleet.close();
    await torture.client.close();
  }
}

interface Round {
  readonly beats: readonly Beat[];
  readonly fromMs: number;
  readonly untilMs: number;
}

class BeatCampaign {
  readonly #params: BeatParams;
  readonly #torture: TortureClient;
  readonly #fleet: BeatFleet;
  readonly #random: () => number;
  readonly #startedAt = performance.now();
  readonly #findings: Finding[] = [];
  readonly #decisions: Record<string, number> = {};
  #rounds = 0;
  #times = 0;
  #runs = 0;
  #connectionsEnded = 0;
  #crashes = 0;

  constructor(params: BeatParams, torture: TortureClient, fleet: BeatFleet, random: () => number) {
    this.#params = params;
    this.#torture = torture;
    this.#fleet = fleet;
    this.#random = random;
  }

  async run(): Promise<BeatResult> {
    const { ms, onProgress } = this.#params;
    do {
      await this.#round(Math.min(ROUND_MS, Math.max(3_000, ms - this.#elapsedMs)));
      onProgress?.(this.#progress());
    } while (this.#elapsedMs < ms && this.#findings.length === 0);
    return {
      ...this.#progress(),
      killsAt: Object.fromEntries([...this.#fleet.kills].sort(([a], [b]) => (a < b ? -1 : 1))),
      leadersKilled: this.#fleet.leaders,
      zombies: this.#fleet.zombies,
      connectionsEnded: this.#connectionsEnded,
      databaseCrashes: this.#crashes,
      decisions: this.#decisions,
      findings: this.#findings,
      accidents: this.#fleet.accidents,
    };
  }

  async #round(ms: number): Promise<void> {
    const round = await this.#begin(ms);
    while (Date.now() < round.untilMs) {
      await this.#disturb();
      await pause(BETWEEN_MS * this.#random());
    }
    await this.#fleet.calm();
    await this.#untilQuiet(round);
    for (const beat of round.beats) {
      const evidence = await this.#evidence(beat, round);
      this.#times += evidence.times.length;
      this.#runs += evidence.runs.length;
      for (const { what } of evidence.decisions) this.#decisions[what] = (this.#decisions[what] ?? 0) + 1;
      this.#findings.push(...judgeBeat(evidence));
    }
    this.#rounds += 1;
    if (this.#findings.length === 0) await this.#cleanUp(round);
  }

  async #begin(ms: number): Promise<Round> {
    const { client } = this.#torture;
    const fromMs = Date.now() + AHEAD_MS;
    const round = { beats: beatsOf(`round-${this.#rounds}-`), fromMs, untilMs: fromMs + ms };
    const starts = round.beats.flatMap((beat) =>
      foreignTimesOf(beat, fromMs, round.untilMs).map((at) => ({
        workflow: foreign,
        options: { id: `${beat.id}@${new Date(at).toISOString()}` },
      })),
    );
    await client.startMany(starts);
    for (const beat of round.beats) await client.schedules.create(scheduleOf(beat, fromMs, round.untilMs));
    if (Date.now() > fromMs) throw new Error("creating the schedules took too long for this campaign");
    return round;
  }

  async #disturb(): Promise<void> {
    const { stage, server } = this.#params;
    const dice = this.#random();
    if (server && dice < SERVER_DOWN) {
      this.#crashes += 1;
      await server.kill();
      await server.start();
    } else if (dice < 3 * SERVER_DOWN && (await stage.terminateConnection(this.#random()).catch(() => false))) {
      this.#connectionsEnded += 1;
    } else {
      const leader = await this.#torture.store.workers.readLeader({}).catch(ignoreOutage);
      this.#fleet.disturb(leader?.workerId);
    }
  }

  /** Until no time is left, and all runs have ended that end. */
  async #untilQuiet({ beats }: Round): Promise<void> {
    const { client, store } = this.#torture;
    const schedules = beats.map(({ id }) => ({ namespace: "default", id }));
    const endAt = performance.now() + PEACE_MS;
    while (performance.now() < endAt) {
      const rows = await store.schedules.read({ schedules }).catch(ignoreOutage);
      const isDone = rows?.every((row) => row?.state.nextAt === null && row.state.buffered.length === 0);
      const counts = ENDING.map((workflow) => client.count({ workflow, status: OPEN }).catch(ignoreOutage));
      if (isDone && (await Promise.all(counts)).every((count) => count === 0)) return;
      await pause(50);
    }
  }

  async #evidence(beat: Beat, { fromMs, untilMs }: Round): Promise<BeatEvidence> {
    const { client, store } = this.#torture;
    const ref = { namespace: "default", id: beat.id };
    const [row] = await store.schedules.read({ schedules: [ref] });
    const { runs } = await client.schedules.runs(beat.id, { limit: 1_000 });
    const foreignTimes = foreignTimesOf(beat, fromMs, untilMs);
    const ids = foreignTimes.map((at) => ({ namespace: "default", id: `${beat.id}@${new Date(at).toISOString()}` }));
    const found = await store.runs.read({ runs: ids });
    return {
      beat,
      times: timesOf(beat, fromMs, untilMs),
      foreignTimes,
      state: row?.state ?? null,
      decisions: await store.schedules.decisions(ref),
      runs: runs.map(({ id, runId, attributes, status, createdAt, endedAt }) => ({
        id,
        runId,
        scheduledAt: Date.parse(String(attributes["holdfast.scheduledAt"])),
        status,
        createdAt: createdAt.getTime(),
        endedAt: endedAt?.getTime() ?? null,
      })),
      foreignRuns: ids.map(({ id }, i) => ({
        id,
        status: found[i]?.status ?? "gone",
        delivered: found[i]?.delivered ?? 0,
      })),
    };
  }

  async #cleanUp({ beats }: Round): Promise<void> {
    const { client } = this.#torture;
    for (const { id } of beats) await client.schedules.delete(id);
    for (;;) {
      const { runs } = await client.list({ status: OPEN, limit: 1_000 });
      if (runs.length === 0) break;
      for (const { id } of runs) await client.get(id).terminate({ reason: "the round is over" });
    }
    await client.purge({ olderThan: "0s" });
  }

  get #elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  #progress(): BeatProgress {
    const kills = [...this.#fleet.kills.values()].reduce((sum, count) => sum + count, 0);
    return { elapsedMs: this.#elapsedMs, rounds: this.#rounds, times: this.#times, runs: this.#runs, kills };
  }
}

/** The workflows whose runs end by themselves. */
const ENDING = ["beat-quick", "beat-slow"];
const OPEN = ["pending", "running", "sleeping", "waiting", "compensating", "parked"] as const;

/** The store may be down, on purpose. */
function ignoreOutage(error: unknown): undefined {
  if (!(error instanceof HoldfastError)) throw error;
}
