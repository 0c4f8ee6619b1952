import { readWholeHistory } from "../../calls/history-reader.ts";
import { untilAnswered } from "../../calls/store-retry.ts";
import { describeValue } from "../../errors/safe-read.ts";
import { type Attributes, eventCategory, eventRole, type HistoryEvent } from "../../model/event.ts";
import type { Message } from "../../model/message.ts";
import type { Run } from "../../model/run.ts";
import { NONE } from "../../model/short-list.ts";
import type { Machine } from "../../replay/machine.ts";
import type { ExecutorHost } from "./executor-host.ts";
import type { Look } from "./looks.ts";
import type { QueuedDraft } from "./message-draft.ts";

/** The events that are not durable and are kept when a look, and everything after it, is taken back. */
interface TakenBack {
  /** Events before the look. */
  readonly kept: readonly HistoryEvent[];
  /** Results since then, to be delivered again. Timers fire again, and messages are read again. */
  readonly results: readonly QueuedDraft[];
}

/** The point from which a run's code continues when its last turns are taken back. */
export interface Resumption {
  /** Has the kept events that are not durable. */
  readonly machine: Machine;
  readonly results: readonly QueuedDraft[];
  readonly messages: readonly Message[];
}

/** Takes back the last turns of one live run: restores the run as it was before them. May happen several times. */
export class Rewind {
  readonly #run: Pick<Run, "namespace" | "runId">;
  readonly #host: Pick<ExecutorHost, "clock" | "random" | "store" | "log" | "ports">;
  readonly #machineFor: (history: readonly HistoryEvent[]) => Machine;
  /** The durable history, once it has been read: it may be needed again. */
  #durable: HistoryEvent[] | undefined;

  constructor(
    run: Pick<Run, "namespace" | "runId">,
    host: ExecutorHost,
    machineFor: (history: readonly HistoryEvent[]) => Machine,
  ) {
    this.#run = run;
    this.#host = host;
    this.#machineFor = machineFor;
  }

  /** Takes back the turns from this look on; undefined if that is impossible or no longer wanted. */
  async read(look: Look, before: Machine, durableSeq: number, giveUp: () => boolean): Promise<Resumption | undefined> {
    const { kept, results } = takeBack(before, look);
    const { namespace, runId } = this.#run;
    const known = { namespace, runId, eventCount: durableSeq, history: this.#durable };
    try {
      const { history, messages } = await readBack(this.#host, known, look.consumed, giveUp);
      if (giveUp()) return undefined;
      this.#durable = history;
      const machine = this.#machineFor([...history, ...kept]);
      machine.putBack(kept, attributesIn(kept));
      return { machine, results, messages };
    } catch (error) {
      if (giveUp()) return undefined;
      this.#host.log.error(
        { runId: this.#run.runId, error: describeValue(error) },
        "could not read the run from the store again; dropping it",
      );
      return undefined;
    }
  }

  /** These events are durable now. */
  written(events: readonly HistoryEvent[]): void {
    for (const event of this.#durable ? events : NONE) this.#durable?.push(event);
  }
}

function takeBack(machine: Machine, look: Look): TakenBack {
  const { fresh } = machine;
  const kept = fresh.filter((event) => event.seq < look.seq);
  const results = fresh
    .filter((event) => event.seq >= look.seq && isResult(event))
    .map(({ seq: _seq, at: _at, ...draft }) => {
      const task = machine.task(draft.op);
      return task ? { ...draft, taskSeq: task.seq } : draft;
    });
  return { kept, results };
}

/** Not from the inbox. The result of a task may be: then it is read again, and the second one is dropped. */
function isResult({ type, meta }: HistoryEvent): boolean {
  const category = eventCategory(type);
  if (meta?.messageId !== undefined) return false;
  return category === "step" || (category === "task" && eventRole(type) === "delivered");
}

/**
 * The durable part of a run that is held here: its history, unless already known, and the messages after the given number.
 */
async function readBack(
  host: Pick<ExecutorHost, "clock" | "random" | "store" | "ports">,
  run: Pick<Run, "namespace" | "runId" | "eventCount"> & { readonly history: HistoryEvent[] | undefined },
  after: number,
  giveUp: () => boolean,
): Promise<{ readonly history: HistoryEvent[]; readonly messages: readonly Message[] }> {
  const { namespace, runId } = run;
  const inbox = (): Promise<readonly Message[]> => host.store.inbox.read({ runs: [{ namespace, runId, after }] });
  const [history, messages] = await Promise.all([
    run.history ?? readWholeHistory(host.ports, run, giveUp),
    untilAnswered(host, inbox, giveUp),
  ]);
  return { history, messages };
}

/** The attributes that these events set, combined. */
function attributesIn(events: readonly HistoryEvent[]): Attributes | null {
  const set = events.flatMap(({ type, meta }) => (type === "attributes_set" ? [meta?.attributes ?? {}] : []));
  return set.length === 0 ? null : Object.assign({}, ...set);
}
