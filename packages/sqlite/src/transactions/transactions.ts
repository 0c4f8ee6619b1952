/**
 * Runs calls as transactions. SQLite is synchronous, so a call is one transaction in one macrotask, and calls of one process
 * never contend with each other. They contend with other processes for the write lock.
 *
 * Invariants
 *  T1. Another process's lock never blocks the event loop: a call that finds the lock taken ends its macrotask and tries
 *      again after a timer.
 *  T2. Writes run in the order of the calls, but while other processes write, a claim lets those that come after it go first,
 *      once. Else the runs that a worker has would wait with their ends for its claim of more. Reads need no lock and never
 *      wait for writes.
 *  T3. A call has committed before its promise is resolved and before its hints are announced.
 */
import { type Clock, HoldfastError, type Random, type Timer } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import type { Catalog } from "../database/catalog.ts";
import type { Connection } from "../database/connection.ts";
import type { KnownHolds } from "../database/known-holds.ts";
import { type ErrorPlace, isBusy, stillBusy, storeError } from "../errors.ts";
import type { HintLog } from "../hint-log.ts";
import type { SchemaGuard } from "../migrations.ts";

/** A call fails if no transaction of this process has gone through for this long. Clients repeat it; workers never give up. */
export const BUSY_PATIENCE_MS = 10_000;
const RETRY_MS_FIRST = 1;
const RETRY_MS_MAX = 25;
/** How many times to try again quickly: most locks are another process's flush, which takes milliseconds. */
const QUICK_TRIES = 25;
/** For this long after it met a lock, a process leaves gaps between its writes; otherwise the others would hardly ever get the lock. */
const COURTESY_MS = 100;
const GAP_MS = 1;
const READ = "begin";
const WRITE = "begin immediate";

export interface TransactionsParams {
  readonly connection: Connection;
  readonly catalog: Catalog;
  readonly holds: KnownHolds;
  readonly hintLog: HintLog;
  readonly clock: Clock;
  readonly random: Random;
  readonly file: string;
  readonly schema: SchemaGuard;
}

/** A read: what a write would answer if it has nothing to write; undefined if it may have. */
export type Look<T> = (call: Call) => T | undefined;

interface Job {
  readonly kind: "read" | "write";
  /** Returns whether it has written. */
  readonly attempt: () => boolean;
  /** A claim: not as urgent as other writes. */
  readonly patient: boolean;
  /** It has let others go first, and does not do so again. */
  hasYielded: boolean;
  readonly reject: (error: unknown) => void;
  readonly askedAt: number;
  failures: number;
}

export class Transactions {
  readonly #params: TransactionsParams;
  readonly #writes: Job[] = [];
  #reads = 0;
  /** When a write last went through. Reads pass while another program holds the write lock. */
  #passedAt = Number.NEGATIVE_INFINITY;
  /** Since when, without a write in between, writes have found the file locked. */
  #lockedAt: number | undefined;
  /** When another process's lock was last in the way. */
  #contendedAt = Number.NEGATIVE_INFINITY;
  /** Whether the last write that went through was a claim. */
  #claimedLast = false;
  /** Until when the next write is put off for the sake of other processes. */
  #gap: Timer | undefined;
  #closed = false;
  #whenIdle: (() => void) | undefined;

  constructor(params: TransactionsParams) {
    this.#params = params;
  }

  write<T>(body: (call: Call) => T): Promise<T> {
    return this.#promise("write", this.#writing(body), (job) => this.#enqueue(job));
  }

  /** A write that is not urgent: while the file is locked it lets others go first (T2), and looks whether it is still needed. */
  writeIfNeeded<T>(body: (call: Call) => T, look: Look<T>): Promise<T> {
    let tries = 0;
    return this.#promise(
      "write",
      (resolve) => {
        tries += 1;
        const found = tries > 1 ? this.#transact(READ, look) : undefined;
        if (found === undefined) return this.#writing(body)(resolve);
        resolve(found);
        return false;
      },
      (job) => this.#enqueue({ ...job, patient: true }),
    );
  }

  read<T>(body: (call: Call) => T): Promise<T> {
    return this.#promise(
      "read",
      (resolve: (result: T) => void) => {
        resolve(this.#transact(READ, body));
        return false;
      },
      (job) => {
        this.#reads += 1;
        this.#params.clock.immediate(() => this.#tryRead(job));
      },
    );
  }

  /** Waits for the calls made so far; refuses later ones. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#writes.length + this.#reads === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  #writing<T>(body: (call: Call) => T): (resolve: (result: T) => void) => boolean {
    return (resolve) => {
      resolve(this.#transact(WRITE, body));
      return true;
    };
  }

  #enqueue(job: Job): void {
    this.#writes.push(job);
    if (this.#writes.length === 1) this.#scheduleWrite();
    else if (this.#gap && !this.#leavesGap(job)) {
      this.#gap.cancel();
      this.#gap = undefined;
      this.#params.clock.immediate(this.#nextWrite);
    }
  }

  #promise<T>(
    kind: Job["kind"],
    attempt: (resolve: (result: T) => void) => boolean,
    enqueue: (job: Job) => void,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) {
        reject(new HoldfastError("client_closed", `The store ${this.#params.file} was used after it was closed.`));
        return;
      }
      const askedAt = this.#params.clock.monotonic();
      const more = { patient: false, hasYielded: false, reject, askedAt, failures: 0 };
      enqueue({ kind, attempt: () => attempt(resolve), ...more });
    });
  }

  readonly #nextWrite = (): void => {
    const { clock } = this.#params;
    this.#gap = undefined;
    const job = this.#nextJob();
    if (!this.#settles(job)) {
      clock.setTimer(this.#pauseMs(job), this.#nextWrite);
      return;
    }
    this.#writes.shift();
    if (this.#writes.length > 0) this.#scheduleWrite();
    else this.#noteIdle();
  };

  #nextJob(): Job {
    const [first, ...others] = this.#writes as [Job, ...Job[]];
    if (!first.patient || first.hasYielded || others.length === 0 || !this.#isContended) return first;
    first.hasYielded = true;
    this.#writes.push(this.#writes.shift() as Job);
    return this.#nextJob();
  }

  #scheduleWrite(): void {
    const { clock } = this.#params;
    if (this.#leavesGap(this.#nextJob())) this.#gap = clock.setTimer(GAP_MS, this.#nextWrite);
    else clock.immediate(this.#nextWrite);
  }

  /** Not between a claim and what comes of it: so no more than two in a row. */
  #leavesGap(job: Job): boolean {
    if (!this.#isContended || (this.#claimedLast && !job.patient)) return false;
    return this.#params.clock.monotonic() - this.#passedAt < GAP_MS;
  }

  get #isContended(): boolean {
    return this.#params.clock.monotonic() - this.#contendedAt < COURTESY_MS;
  }

  #tryRead(job: Job): void {
    if (!this.#settles(job)) {
      this.#params.clock.setTimer(this.#pauseMs(job), () => this.#tryRead(job));
      return;
    }
    this.#reads -= 1;
    this.#noteIdle();
  }

  /** False: another process has the lock, try again. */
  #settles(job: Job): boolean {
    const { clock, file } = this.#params;
    try {
      if (job.attempt()) this.#notePassed(job);
    } catch (error) {
      if (!isBusy(error)) {
        job.reject(error);
        return true;
      }
      const now = clock.monotonic();
      // After a pause without a try nobody knows whether it is still the same lock.
      const isNew = this.#lockedAt === undefined || now - this.#contendedAt > BUSY_PATIENCE_MS;
      if (job.kind === "write" && isNew) this.#lockedAt = now;
      const since = job.kind === "write" ? Math.max(job.askedAt, this.#passedAt) : job.askedAt;
      if (now - since < BUSY_PATIENCE_MS) return false;
      job.reject(stillBusy(file, now - Math.min(since, this.#lockedAt ?? since), error));
    }
    return true;
  }

  #notePassed({ patient }: Job): void {
    this.#claimedLast = patient;
    this.#passedAt = this.#params.clock.monotonic();
    this.#lockedAt = undefined;
  }

  /** Randomized, because processes that wait in step collide again. */
  #pauseMs(job: Job): number {
    job.failures += 1;
    this.#contendedAt = this.#params.clock.monotonic();
    const doublings = Math.min(Math.max(0, job.failures - QUICK_TRIES), 10);
    return Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** doublings) * (0.5 + this.#params.random.next());
  }

  #transact<T>(begin: string, body: (call: Call) => T): T {
    const { connection, catalog, holds, hintLog, clock, file, schema } = this.#params;
    let moment: ErrorPlace["moment"] = "call";
    let call: Call;
    let result: T;
    let begun = false;
    try {
      connection.run(begin);
      begun = true;
      if (begin === WRITE) schema.check(connection);
      const now = Math.floor(clock.now());
      call = { sql: connection, catalog, holds, now, knownSchema: schema.known, hints: [] };
      result = body(call);
      hintLog.record(call);
      moment = "commit";
      connection.run("commit");
    } catch (error) {
      connection.rollback();
      // One that found the file locked has changed nothing: what is known stays true, and need not be read again under the lock.
      if (begun) {
        catalog.forget();
        holds.forgetAll();
      }
      if (isBusy(error)) throw error;
      throw storeError(error, { file, moment });
    }
    hintLog.announce(call);
    return result;
  }

  #noteIdle(): void {
    if (this.#writes.length + this.#reads === 0) this.#whenIdle?.();
  }
}
