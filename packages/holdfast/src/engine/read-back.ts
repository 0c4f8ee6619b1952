import type { Attributes, EventDraft, HistoryEvent } from "../model/event.ts";
import type { Message } from "../model/message.ts";
import type { Run } from "../model/run.ts";
import type { ExecutorHost } from "./executor-host.ts";
import { readWholeHistory } from "./history-reader.ts";
import type { Look } from "./looks.ts";
import { untilAnswered } from "./store-retry.ts";

/** What is left of events that are not durable when a look is taken back, and all after it. */
export interface TakenBack {
  /** Events before it. */
  readonly kept: readonly HistoryEvent[];
  /** What has become of steps since: to be delivered again. Timers fire again, and messages are read again. */
  readonly results: readonly EventDraft[];
}

export function takeBack(fresh: readonly HistoryEvent[], look: Look): TakenBack {
  const kept = fresh.filter((event) => event.seq < look.seq);
  const results = fresh
    .filter(({ seq, type, meta }) => seq >= look.seq && type.startsWith("step_") && meta?.messageId === undefined)
    .map(({ seq: _seq, at: _at, ...draft }) => draft);
  return { kept, results };
}

/** The durable part of a run that is held here: its history, unless that is known, and the messages after that many. */
export async function readBack(
  host: Pick<ExecutorHost, "clock" | "random" | "store">,
  run: Pick<Run, "runId" | "eventCount"> & { readonly history: HistoryEvent[] | undefined },
  after: number,
  giveUp: () => boolean,
): Promise<{ readonly history: HistoryEvent[]; readonly messages: readonly Message[] }> {
  const inbox = (): Promise<readonly Message[]> => host.store.readInbox({ runs: [{ runId: run.runId, after }] });
  const [history, messages] = await Promise.all([
    run.history ?? readWholeHistory(host, run, giveUp),
    untilAnswered(host, inbox, giveUp),
  ]);
  return { history, messages };
}

/** The attributes that these events set, all in all. */
export function attributesIn(events: readonly HistoryEvent[]): Attributes | null {
  const set = events.flatMap(({ type, meta }) => (type === "attributes_set" ? [meta?.attributes ?? {}] : []));
  return set.length === 0 ? null : Object.assign({}, ...set);
}
