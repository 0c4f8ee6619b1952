/**
 * Looks at every change of a schedule when it takes effect, and keeps account of each of its times. What should be fired is
 * counted here: schedules of the simulator are due at the multiples of a number of milliseconds.
 */
import type { MemoryState, RunRecord, ScheduleRecord } from "../../packages/holdfast/src/memory/state.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { PutSchedule, PutSchedulesParams } from "../../packages/holdfast/src/ports/store.ts";
import type { Found } from "../evidence.ts";

/** Who pauses a schedule looks at the clock first: the change may arrive that much later. */
const LATE_MS = 30_000;

type Fate = "fired" | "skipped" | "missed" | "buffered";

interface Account {
  readonly everyMs: number;
  readonly fates: Map<number, Fate>;
  /** The first time that must have a fate since it was created, resumed or changed; undefined while it is paused. */
  from: number | undefined;
}

export class ScheduleWatch {
  readonly faults: Found[] = [];
  fired = 0;
  readonly #state: MemoryState;
  readonly #accounts = new Map<string, Account>();

  constructor(state: MemoryState) {
    this.#state = state;
  }

  around(storeAt: number, { puts }: PutSchedulesParams, call: () => Promise<unknown>): Promise<unknown> {
    const before = puts.map((put) => this.#state.schedules.get(keyOf(put)));
    const open = puts.map((put) => this.#openRuns(put.id));
    const answer = call();
    puts.forEach((put, i) => {
      const after = this.#state.schedules.get(keyOf(put));
      if (after?.revision === put.next && before[i]?.revision !== put.next)
        this.#changed(storeAt, put, before[i], after, open[i] as readonly RunRecord[]);
    });
    return answer;
  }

  /** The end: every time up to that one must have its fate. */
  close(storeAt: number): void {
    for (const [id, account] of this.#accounts) this.#requireFates(id, account, storeAt);
  }

  #openRuns(id: string): readonly RunRecord[] {
    return [...this.#state.runs.values()].filter((run) => run.id.startsWith(`${id}@`) && !isClosed(run.status));
  }

  #changed(
    storeAt: number,
    put: PutSchedule,
    before: ScheduleRecord | undefined,
    after: ScheduleRecord,
    open: readonly RunRecord[],
  ): void {
    const account = this.#accountOf(after);
    if (put.definition) this.#redefined(storeAt, put, account);
    const starts = put.starts.filter(({ run }) => run.id.startsWith(`${put.id}@`));
    if (starts.length > 0 && before?.definition.paused) this.#fault(put.id, "starts a run while it is paused");
    const { overlap } = after.definition;
    // One may have made way for the start.
    const beside = open.filter(({ status }) => !isClosed(status)).length;
    if (overlap !== "allow" && starts.length + beside > 1 && starts.length > 0)
      this.#fault(put.id, `starts ${starts.length} runs beside ${beside} open ones (${overlap})`);
    this.fired += starts.length;
    for (const { at, what, reason = "" } of put.decided) {
      if (reason === "it was triggered") continue;
      if (what === "skipped" && reason.endsWith("is open") && this.#isIdle(before, starts.length))
        this.#fault(put.id, `skips ${at} because of a run that is not open`);
      if (what === "missed" && !put.definition) this.#fault(put.id, `misses ${at}, within its limits`);
      this.#decide(put.id, account, at, what as Fate, reason);
    }
  }

  /** Neither the open run, which may be one that was triggered, nor one of this change stands in the way. */
  #isIdle(before: ScheduleRecord | undefined, starts: number): boolean {
    const runIds = this.#state.byId.get(`${before?.namespace}\n${before?.state.openId}`) ?? [];
    const newest = this.#state.runs.get(runIds.at(-1) ?? "");
    return starts === 0 && (newest === undefined || isClosed(newest.status));
  }

  #accountOf({ id, definition }: ScheduleRecord): Account {
    const known = this.#accounts.get(id);
    if (known) return known;
    const account = {
      everyMs: definition.spec.every[0]?.everyMs ?? 0,
      fates: new Map<number, Fate>(),
      from: undefined,
    };
    this.#accounts.set(id, account);
    return account;
  }

  #redefined(storeAt: number, { id, definition, state, decided }: PutSchedule, account: Account): void {
    for (const { at, reason = "" } of decided) this.#missAll(account, at, reason);
    // A change that keeps the schedule's next time, as a resume of one that is not paused does, decides nothing about the times from
    // there on: they stay demanded (`from`), however late they are. All before it have been decided.
    this.#requireFates(id, account, definition?.paused ? storeAt - LATE_MS : (state.nextAt ?? storeAt) - 1);
    account.from = definition?.paused ? undefined : (state.nextAt ?? undefined);
    // The clock may have been set back: what was not fired may come again.
    for (const [at, fate] of account.fates)
      if (fate !== "fired" && fate !== "buffered" && at >= (state.nextAt ?? Number.POSITIVE_INFINITY))
        account.fates.delete(at);
  }

  #missAll({ everyMs, fates }: Account, first: number, reason: string): void {
    const until = Date.parse(/up to (\S+):/.exec(reason)?.[1] ?? "") || first;
    for (let at = first; at <= until; at += everyMs) if (!fates.has(at)) fates.set(at, "missed");
  }

  #decide(id: string, { fates }: Account, at: number, fate: Fate, reason: string): void {
    const known = fates.get(at);
    if (fate === "missed") return;
    const again = known === "buffered" && fate !== "buffered";
    if (known !== undefined && !again) this.#fault(id, `${at} was ${known}, and is ${fate}: ${reason}`);
    fates.set(at, fate);
  }

  #requireFates(id: string, { from, everyMs, fates }: Account, until: number): void {
    if (from === undefined) return;
    for (let at = from; at <= until; at += everyMs)
      if (!fates.has(at)) this.#fault(id, `${at} was neither fired nor skipped, ${until - at} ms later`);
  }

  #fault(id: string, text: string): void {
    this.faults.push({ text: `schedule ${id} ${text}` });
  }
}

function keyOf({ namespace, id }: PutSchedule): string {
  return `${namespace}\n${id}`;
}
