/** The store calls that children need, without an engine: start them, end them, record both in their parents, pay the debts. */
import type { HistoryEvent, PaidDebt, RunCommit, RunRow } from "holdfast/adapter";
import { type BareLoop, END, newId, newRun, RESULT } from "./bare-loop.ts";

/** Children in one call, and calls in flight: as the engine makes them. */
const CALL_MAX = 250;
const IN_FLIGHT_MAX = 2;
const PAID_MAX = 500;
const NOTHING = { consumed: 0, attributes: null, clearDeadline: false } as const;

interface Child {
  readonly parent: RunRow;
  readonly op: string;
}

export class BareChildren {
  readonly #loop: BareLoop;

  constructor(loop: BareLoop) {
    this.#loop = loop;
  }

  /** So many parents at once, with so many children each. What their children owe, when all have ended. */
  async families(parents: number, each: number): Promise<readonly PaidDebt[]> {
    const rows = await this.#loop.start(parents, true);
    const left = rows.flatMap((parent) =>
      Array.from({ length: each }, (_, i): Child => ({ parent, op: `leaf#${i + 1}` })),
    );
    // The first call notes that the parents have children: until then, two would be in each other's way.
    const owed = [...(await this.#children(left.splice(0, CALL_MAX)))];
    const work = async (): Promise<void> => {
      for (let some = left.splice(0, CALL_MAX); some.length > 0; some = left.splice(0, CALL_MAX))
        owed.push(...(await this.#children(some)));
    };
    await Promise.all(Array.from({ length: IN_FLIGHT_MAX }, work));
    await this.#commit(rows.map((row) => ({ ...this.#commitOf(row), ...eventsOf(each), transition: END })));
    return owed;
  }

  async pay(owed: readonly PaidDebt[]): Promise<void> {
    for (let i = 0; i < owed.length; i += PAID_MAX)
      await this.#loop.store.debts.pay({ debts: owed.slice(i, i + PAID_MAX) });
  }

  /** Starts and ends them. What they owe. */
  async #children(children: readonly Child[]): Promise<readonly PaidDebt[]> {
    const starts = children.map(({ parent: { namespace, runId, id }, op }) => {
      const parent = {
        parent: { namespace, runId, id },
        op,
        root: { runId, id },
        depth: 1,
        policy: "terminate",
      } as const;
      return { run: newRun(newId()), hold: true, ifRunning: "fail", ifClosed: "start", pick: null, parent } as const;
    });
    const replaceError = { name: "Error", message: "", kind: "Unknown" } as const;
    const holdBy = { workerId: this.#loop.workerId, claimId: newId() };
    const { outcomes } = await this.#loop.store.runs.start({ starts, holdBy, replaceError });
    const commits = outcomes.map(({ run }) => {
      return { ...this.#commitOf(run as RunRow), events: [], eventCount: 0, transition: { ...END, output: RESULT } };
    });
    const ended = await this.#commit(commits);
    return ended.map(({ debtNo }, i) => {
      if (debtNo === undefined) throw new Error("a child of the bare loop owes nothing");
      const { namespace, runId } = commits[i] as RunCommit;
      return { debtNo, namespace, runId, watchers: [] };
    });
  }

  #commitOf({ namespace, runId, epoch }: RunRow) {
    return { namespace, runId, workerId: this.#loop.workerId, epoch, commit: 0, ...NOTHING };
  }

  async #commit(commits: readonly RunCommit[]) {
    const { outcomes } = await this.#loop.store.runs.commit({ commits });
    if (outcomes.some(({ outcome }) => outcome !== "written")) throw new Error("the bare loop lost a run");
    return outcomes;
  }
}

function eventsOf(children: number): { readonly events: HistoryEvent[]; readonly eventCount: number } {
  const at = Date.now();
  const child = { runId: newId(), id: newId(), workflow: "leaf", version: "1" };
  const events = Array.from({ length: 2 * children }, (_, i): HistoryEvent => {
    const op = `leaf#${(i % children) + 1}`;
    return i < children
      ? { seq: i + 1, type: "child_started", op, at, meta: { child, inputHash: "0123456789abcdef" } }
      : { seq: i + 1, type: "child_completed", op, at, payload: RESULT };
  });
  return { events, eventCount: events.length };
}
