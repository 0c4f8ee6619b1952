import type { Debt, HistoryEvent, LockAnswer, LockAsk, NewLock, Store, Transition } from "holdfast/adapter";
import type { Fixture } from "./fixture.ts";
import type { Holder } from "./holder.ts";
import { HOLD, START_MS } from "./sample-data.ts";

/** The calls about locks that most cases make. */
export class LockCalls {
  readonly #fixture: Fixture;

  constructor(fixture: Fixture) {
    this.#fixture = fixture;
  }

  /** A commit of the run that requests locks of these names; the seq of each is that of its event. */
  async request(holder: Holder, names: readonly string[], fields: Partial<NewLock> = {}): Promise<number[]> {
    const locks = names.map((name, i) => newLock(holder.eventCount + 1 + i, name, fields));
    const { outcome } = await holder.commit(HOLD, { events: locks.map(requestEvent), locks });
    if (outcome !== "written") throw new Error(`the commit that requests locks was answered ${outcome}`);
    return locks.map(({ seq }) => seq);
  }

  /** A new run that holds the lock, or waits for it. */
  async run(name: string, fields: Partial<NewLock> = {}): Promise<LockRun> {
    const holder = await this.#fixture.held();
    const [seq = 0] = await this.request(holder, [name], fields);
    return { holder, seq, answer: await this.ask(holder, seq) };
  }

  async ask(holder: Holder, seq: number, fields: Partial<LockAsk> = {}, store?: Store): Promise<LockAnswer> {
    const asks = [askOf(holder, seq, fields)];
    const { answers } = await (store ?? this.#fixture.store).locks.pass({ asks, givenBackBy: [] });
    return answers[0] as LockAnswer;
  }

  /** Gives locks back in a commit, and passes them on. */
  async giveBack(holder: Holder, seqs: readonly number[], transition: Transition = HOLD): Promise<void> {
    await holder.commit(transition, { events: 1, unlocks: seqs });
    await this.passOn(holder);
  }

  async passOn({ namespace, runId }: Holder): Promise<boolean> {
    const { passed } = await this.#fixture.store.locks.pass({ asks: [], givenBackBy: [{ namespace, runId }] });
    return passed[0] as boolean;
  }

  async owed({ namespace, runId }: Holder): Promise<Debt | undefined> {
    const debts = await this.#fixture.store.debts.read({ runs: [{ namespace, runId }], limit: 10 });
    return debts.find(({ kind }) => kind === "lock");
  }

  /** The run ids of the holders and of those that wait, in order. */
  async line(name: string, namespace = "default"): Promise<{ holders: string[]; waiting: string[] }> {
    const requests = await this.#fixture.store.locks.list({ namespace, of: { name }, limit: 1_000 });
    const ids = (held: boolean): string[] =>
      requests.filter(({ fence }) => (fence !== null) === held).map(({ runId }) => runId);
    return { holders: ids(true), waiting: ids(false) };
  }

  /** What the inbox of the run says about locks. */
  async told(runId: string): Promise<[op: string, messageId: string][]> {
    const messages = await this.#fixture.inbox(runId);
    return messages.filter(({ kind }) => kind === "lock_granted").map(({ name, messageId }) => [name, messageId]);
  }
}

export interface LockRun {
  readonly holder: Holder;
  readonly seq: number;
  readonly answer: LockAnswer;
}

export function newLock(seq: number, name: string, fields: Partial<NewLock> = {}): NewLock {
  return { seq, op: `lock:${name}`, name, limit: 1, ...fields };
}

export function askOf({ namespace, runId, epoch }: Holder, seq: number, fields: Partial<LockAsk> = {}): LockAsk {
  return { namespace, runId, seq, epoch, ...fields };
}

export function requestEvent({ seq, op, limit }: NewLock): HistoryEvent {
  return { seq, type: "lock_requested", op, at: START_MS, meta: { limit } };
}
