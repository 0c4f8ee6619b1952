/**
 * The runs that guests of this server work on. A guest run lives at one server: two writers under one claim would lose a result. What is
 * known here of it is gone with the server; the run itself is in the store, and is claimed anew.
 */
import { timingSafeEqual } from "node:crypto";
import {
  type Clock,
  type GuestRun,
  HoldfastError,
  type Random,
  type Run,
  type RunDeparture,
  type RunStatus,
  type Store,
} from "holdfast/adapter";
import type { ClientPool } from "../client-pool.ts";
import type { Seat } from "../services/worker-seats.ts";
import { GuestLane, type LaneKey } from "./guest-lane.ts";
import { readGuestToken, writeGuestToken } from "./guest-token.ts";

const LANES_MAX = 1_000;
/** A lane that nobody uses is closed after this time. */
const LANE_IDLE_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
/** Longer than a poll: its answer may be on its way. */
const FORGOTTEN_MS = 30_000;

/** A run in the hands of a guest. */
export interface Attendance {
  readonly run: GuestRun;
  readonly token: string;
  readonly workerId: string;
}

interface Held extends Attendance {
  readonly secret: string;
  readonly lane: GuestLane;
  unnamedSince: number | undefined;
}

/** A guest that works on runs, and its last sign of life here. */
interface Guest {
  readonly namespace: string;
  readonly leaseMs: number;
  readonly runs: Set<Held>;
  seenAt: number;
}

interface OpenLane {
  readonly lane: GuestLane;
  readonly release: () => void;
}

export interface GuestRunsParams {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly clients: ClientPool;
}

export class GuestRuns {
  readonly #params: GuestRunsParams;
  readonly #lanes = new Map<string, OpenLane>();
  readonly #runs = new Map<GuestRun, Held>();
  readonly #byRunId = new Map<string, Held>();
  readonly #guests = new Map<string, Guest>();
  #looking = false;
  #closed = false;

  constructor(params: GuestRunsParams) {
    this.#params = params;
  }

  /** The next run for the guest; undefined if `over` came first. */
  async next(seat: Seat, key: Omit<LaneKey, "namespace">, over: Promise<void>): Promise<Attendance | undefined> {
    const lane = this.#laneOf({ ...key, namespace: seat.namespace });
    const run = await lane.next(over);
    return run && this.#attend(seat, lane, run);
  }

  /** Whoever waited has gone. */
  putBack({ run }: Attendance): void {
    const held = this.#forget(run);
    held?.lane.putBack(run);
  }

  /** The run that a call is about. Throws `guest_run_lost` unless its guest calls. */
  find(namespace: string, token: string, runId: string, worker: string | null): Attendance {
    const read = token === "" ? undefined : readGuestToken(token);
    const held = this.#byRunId.get(read?.runId ?? (token === "" ? runId : ""));
    const rightful = read ? sameText(held?.secret ?? "", read.secret) : worker !== null && held?.workerId === worker;
    if (!held || !rightful || held.run.run.namespace !== namespace) throw guestRunLost(read?.runId ?? runId);
    this.noteAlive(held.workerId);
    return held;
  }

  noteAlive(workerId: string): void {
    const guest = this.#guests.get(workerId);
    if (guest) guest.seenAt = this.#params.clock.monotonic();
  }

  /** How a run has ended that its guest has ended under this token; undefined if it has not, or under another one. */
  async endedAs(namespace: string, token: string): Promise<RunStatus | undefined> {
    const read = readGuestToken(token);
    if (!read) return undefined;
    const [row] = await this.#params.store.runs.read({ runs: [{ namespace, runId: read.runId }] });
    return row && row.epoch === read.epoch && row.endedAt !== null ? row.status : undefined;
  }

  count(workerId: string): number {
    return this.#guests.get(workerId)?.runs.size ?? 0;
  }

  /** The guest works on the runs of these tokens and on no other. Answers which of them are not its own any longer. */
  async compare(namespace: string, workerId: string, tokens: readonly string[]): Promise<string[]> {
    const held = [...(this.#guests.get(workerId)?.runs ?? [])];
    const now = this.#params.clock.monotonic();
    const named = new Set(tokens);
    const forgotten: Held[] = [];
    for (const one of held) {
      one.unnamedSince = named.has(one.token) ? undefined : (one.unnamedSince ?? now);
      if (one.unnamedSince !== undefined && now - one.unnamedSince >= FORGOTTEN_MS) forgotten.push(one);
    }
    await Promise.all(forgotten.map((one) => this.#giveBack(one)));
    const own = new Set(held.map(({ token }) => token));
    return this.#lost(
      namespace,
      tokens.filter((token) => !own.has(token)),
    );
  }

  /** Those of the tokens whose runs nobody holds under that claim, or this server does, and for others. */
  async #lost(namespace: string, tokens: readonly string[]): Promise<string[]> {
    const read = tokens.flatMap((token) => {
      const parts = readGuestToken(token);
      return parts ? [{ token, ...parts }] : [];
    });
    if (read.length === 0) return [];
    const rows = await this.#params.store.runs.read({ runs: read.map(({ runId }) => ({ namespace, runId })) });
    const lanes = [...this.#lanes.values()];
    const isElsewhere = (epoch: number, row: Run | null | undefined): boolean =>
      row?.epoch === epoch &&
      row.endedAt === null &&
      row.heldBy !== null &&
      !lanes.some(({ lane }) => lane.isHolder(row.heldBy as string));
    return read.filter(({ epoch }, at) => !isElsewhere(epoch, rows[at])).map(({ token }) => token);
  }

  /** The guest leaves, or is dead: others get its runs. */
  async release(workerId: string, died: boolean): Promise<void> {
    const runs = [...(this.#guests.get(workerId)?.runs ?? [])];
    const alone = runs.length === 1;
    await Promise.all(runs.map((held) => this.#giveBack(held, died ? { alone } : undefined)));
  }

  /** The server closes: all runs are given back. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#lanes.values()].map(({ lane }) => lane.close()));
    for (const { release } of this.#lanes.values()) release();
    this.#lanes.clear();
  }

  #laneOf(key: LaneKey): GuestLane {
    if (this.#closed) throw new HoldfastError("worker_not_running", "The server is closing.");
    const name = JSON.stringify([key.namespace, key.queue, key.workflows]);
    const known = this.#lanes.get(name);
    if (known) return known.lane;
    if (this.#lanes.size >= LANES_MAX) {
      const message = `Guests of this server ask for more than ${LANES_MAX} different lists of workflows.`;
      throw new HoldfastError("rate_limited", message, { data: { retryAfterMs: LANE_IDLE_MS } });
    }
    const { clients, clock } = this.#params;
    const { clients: of, release } = clients.hold(key.namespace);
    const onLeft = (run: GuestRun, how: RunDeparture): void => void this.#left(run, how);
    const lane = new GuestLane({ ...key, client: of.raw, clock, onLeft });
    this.#lanes.set(name, { lane, release });
    this.#lookSoon();
    return lane;
  }

  #attend(seat: Seat, lane: GuestLane, run: GuestRun): Attendance {
    const { namespace, workerId, leaseMs } = seat;
    const { runId, epoch } = run.run;
    const secret = Buffer.from(this.#params.random.bytes(16)).toString("hex");
    const token = writeGuestToken({ runId, epoch, secret });
    // One that was told to stop may still have it.
    this.#forget(run);
    const held: Held = { run, token, workerId, secret, lane, unnamedSince: undefined };
    const seenAt = this.#params.clock.monotonic();
    const guest = this.#guests.get(workerId) ?? { namespace, leaseMs, runs: new Set<Held>(), seenAt };
    guest.seenAt = seenAt;
    guest.runs.add(held);
    this.#guests.set(workerId, guest);
    this.#runs.set(run, held);
    this.#byRunId.set(runId, held);
    this.#lookSoon();
    return held;
  }

  #left(run: GuestRun, _how: RunDeparture): void {
    this.#forget(run);
  }

  #forget(run: GuestRun): Held | undefined {
    const held = this.#runs.get(run);
    if (!held) return undefined;
    this.#runs.delete(run);
    if (this.#byRunId.get(run.run.runId) === held) this.#byRunId.delete(run.run.runId);
    const guest = this.#guests.get(held.workerId);
    guest?.runs.delete(held);
    if (guest?.runs.size === 0) this.#guests.delete(held.workerId);
    return held;
  }

  async #giveBack(held: Held, died?: { readonly alone: boolean }): Promise<void> {
    // Its token is worth nothing from here on, whatever becomes of the call.
    this.#forget(held.run);
    await held.lane.giveBack(held.run, died);
  }

  #lookSoon(): void {
    if (this.#looking || this.#closed) return;
    this.#looking = true;
    const again = async (): Promise<void> => {
      await this.#look().catch(() => {});
      this.#looking = false;
      if (this.#guests.size > 0 || this.#lanes.size > 0) this.#lookSoon();
    };
    this.#params.clock.setTimer(LOOK_EVERY_MS, () => void again()).unref?.();
  }

  /** Guests that are silent, and lanes that nobody uses. */
  async #look(): Promise<void> {
    const now = this.#params.clock.monotonic();
    for (const [workerId, guest] of this.#guests)
      if (now - guest.seenAt > guest.leaseMs) {
        if (await this.#isAlive(guest.namespace, workerId)) guest.seenAt = now;
        else await this.release(workerId, true);
      }
    for (const [name, { lane, release }] of this.#lanes) {
      if (lane.idleMs < LANE_IDLE_MS) continue;
      this.#lanes.delete(name);
      await lane.close();
      release();
    }
  }

  /** It may have sent its heartbeats to another server. */
  async #isAlive(namespace: string, workerId: string): Promise<boolean> {
    const { store } = this.#params;
    const [rows, { now }] = await Promise.all([store.workers.list({ namespace }), store.readClock()]);
    const row = rows.find((one) => one.workerId === workerId);
    return row !== undefined && row.status !== "offline" && row.leaseExpiresAt > now;
  }
}

export function guestRunLost(runId: string): HoldfastError {
  const shown = runId.slice(0, 100);
  const what = shown === "" ? "a run under that token" : `run "${shown}"`;
  const message = `This server does not hold ${what} for you, or not any longer. Drop the run, and poll again.`;
  return new HoldfastError("guest_run_lost", message, { data: { runId: shown } });
}

function sameText(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
