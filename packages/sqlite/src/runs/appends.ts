import {
  type CommitOutcome,
  type HistoryEvent,
  HoldfastError,
  isSameEvent,
  judgeAppend,
  type RunCommit,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import type { KnownHold } from "../database/known-holds.ts";
import { appendEvents, lastSeq, readEvent } from "../histories.ts";
import type { KnownWorkers } from "../workers.ts";
import { believed, fenceOf } from "./fence.ts";
import { isOf } from "./run-state.ts";

const LOST: CommitOutcome = { outcome: "lost", held: false, delivered: 0 };

/** The appends of one flush. Their events are written together, several rows a statement. */
export class Appends {
  readonly #call: Call;
  readonly #workers: KnownWorkers;
  readonly #events: (readonly [runKey: number, event: HistoryEvent])[] = [];

  constructor(call: Call, workers: KnownWorkers) {
    this.#call = call;
    this.#workers = workers;
  }

  add(commit: RunCommit): CommitOutcome {
    const { epoch, events } = commit;
    const sent = { epoch, commit: commit.commit, firstSeq: events[0]?.seq ?? 0, lastSeq: events.at(-1)?.seq ?? 0 };
    const known = believed(this.#call, commit, this.#workers);
    if (known && judgeAppend(known, true, sent) === "write") {
      this.#write(known, commit);
      return { outcome: "written", held: true, delivered: known.delivered };
    }
    const hold = this.#read(commit);
    const judged = hold ? judgeAppend(hold, true, sent) : "lost";
    if (!hold || judged === "lost") {
      this.#call.holds.forget(commit.runId);
      return LOST;
    }
    if (judged === "again") this.#requireSame(hold, events);
    else this.#write(hold, commit);
    return { outcome: "written", held: true, delivered: hold.delivered };
  }

  /** Before anything else reads the events of these runs. */
  flush(): void {
    appendEvents(this.#call, this.#events);
    this.#events.length = 0;
  }

  #read({ namespace, runId: id, workerId }: RunCommit): KnownHold | undefined {
    const row = fenceOf(this.#call, id);
    const worker = this.#workers.find(workerId);
    if (!row || row.heldBy === null || row.heldBy !== worker?.workerKey) return undefined;
    if (!isOf(this.#call, row.laneId, namespace)) return undefined;
    const { runKey, epoch, commit, delivered, status, laneId, deadlineAt } = row;
    const { taken } = worker;
    const eventCount = lastSeq(this.#call, runKey);
    const plain = row.ties === null && !row.marked;
    const said = { runKey, namespace, workerId, taken, epoch, commit, delivered, eventCount };
    const hold: KnownHold = { ...said, status, laneId, deadlineAt, plain };
    this.#call.holds.note(id, hold);
    return hold;
  }

  #write(hold: KnownHold, { runId, events, eventCount }: RunCommit): void {
    for (const event of events) {
      hold.eventCount += 1;
      // (run, seq) is unique and has no gaps; the fence should have refused any commit that breaks this.
      if (event.seq !== hold.eventCount) throw gap(runId, `event ${event.seq} does not follow ${hold.eventCount - 1}`);
      this.#events.push([hold.runKey, event]);
    }
    if (hold.eventCount !== eventCount)
      throw gap(runId, `it has ${hold.eventCount} events with this commit, not ${eventCount}`);
  }

  /** Others under the same epoch would be those of a second writer. */
  #requireSame({ runKey }: KnownHold, events: readonly HistoryEvent[]): void {
    this.flush();
    for (const event of events) {
      const stored = readEvent(this.#call, runKey, event.seq);
      if (stored && isSameEvent(stored, event)) continue;
      throw new HoldfastError("invariant_broken", `event ${event.seq} is there, but it is another one`);
    }
  }
}

function gap(runId: string, what: string): HoldfastError {
  return new HoldfastError("invariant_broken", `run ${runId}: ${what}`);
}
