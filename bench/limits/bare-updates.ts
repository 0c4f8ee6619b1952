/** The store calls that an update needs, without an engine: deliver it, claim its run, and commit the answer. */
import type { DeliverMessage, HistoryEvent, Run, Transition } from "holdfast/adapter";
import { type BareLoop, newId, RESULT } from "./bare-loop.ts";

const ARGUMENT = new TextEncoder().encode("1");
const WAIT: Transition = { type: "suspend", status: "waiting", availableAt: null, waitingFor: ["signal go"] };
const INBOX_MAX = 10_000;

export class BareUpdates {
  readonly #loop: BareLoop;
  /** What each open run has had, by run id. */
  readonly #open = new Map<string, { commit: number; events: number; updates: number }>();

  constructor(loop: BareLoop) {
    this.#loop = loop;
  }

  async open(size: number): Promise<void> {
    const runs = await this.#loop.start(size, true);
    for (const { runId } of runs) this.#open.set(runId, { commit: 0, events: 0, updates: 0 });
    await this.#commit(runs, false);
  }

  /** One update of each of these runs. */
  async update(from: number, size: number): Promise<void> {
    const runIds = [...this.#open.keys()].slice(from, from + size);
    const messages = runIds.map((runId): DeliverMessage => {
      const about = { kind: "update", name: "add", messageId: newId(), payload: ARGUMENT } as const;
      return { to: { namespace: "default", runId }, ...about };
    });
    await this.#loop.store.inbox.deliver({ messages, inboxMax: INBOX_MAX });
    const runs = await this.#loop.claimRuns(size);
    if (runs.length !== runIds.length) throw new Error("the bare loop did not get its runs back");
    await this.#commit(runs, true);
  }

  async #commit(runs: readonly Pick<Run, "runId" | "epoch">[], answers: boolean): Promise<void> {
    const { workerId, store } = this.#loop;
    const commits = runs.map(({ runId, epoch }) => {
      const had = this.#open.get(runId) as { commit: number; events: number; updates: number };
      const commit = had.commit++;
      const events = answers ? eventsOf(had) : [];
      const replies = answers ? [{ number: had.updates, seq: had.events }] : [];
      const nothing = { attributes: null, clearDeadline: false } as const;
      const about = {
        namespace: "default",
        runId,
        workerId,
        epoch,
        commit,
        consumed: had.updates,
        eventCount: had.events,
      };
      return { ...about, ...nothing, events, replies, transition: WAIT };
    });
    const { outcomes } = await store.runs.commit({ commits });
    if (outcomes.some(({ outcome }) => outcome !== "written")) throw new Error("the bare loop lost a run");
  }
}

function eventsOf(had: { events: number; updates: number }): HistoryEvent[] {
  had.updates += 1;
  had.events += 2;
  const op = `update:add#${had.updates}`;
  const at = Date.now();
  return [
    { seq: had.events - 1, type: "update_accepted", op, at, payload: ARGUMENT },
    { seq: had.events, type: "update_completed", op, at, payload: RESULT },
  ];
}
