import { type HistoryEvent, isClosed, type Message, type Run } from "holdfast/adapter";
import type { Contents } from "./contents.ts";
import { brokenByTalks } from "./talks/invariants.ts";
import { brokenByTasks } from "./tasks/invariants.ts";

/** What must always hold in every store, however it got there. */
export function brokenInvariants(contents: Contents): string[] {
  return [
    ...contents.runs.flatMap((run) => brokenByRun(run, contents)),
    ...brokenById(contents),
    ...brokenByTasks(contents),
    ...brokenByTalks(contents),
    ...brokenByQueues(contents),
  ];
}

function brokenByRun(run: Run, contents: Contents): string[] {
  const closed = isClosed(run.status);
  const held = run.heldBy !== null;
  const history = contents.histories[run.runId] ?? [];
  const inbox = contents.inboxes[run.runId] ?? [];
  const holder = contents.workers.find(({ workerId }) => workerId === run.heldBy);
  const behind = run.delivered > run.consumed;
  const listedAsHeld = Object.entries(contents.held).filter(([, runs]) =>
    runs.some(({ runId }) => runId === run.runId),
  );
  const rules: Readonly<Record<string, boolean>> = {
    "the history has eventCount events, numbered from 1": history.length === run.eventCount && isCounted(history),
    "events never go back in time": history.every(({ at }, i) => i === 0 || at >= (history[i - 1]?.at ?? 0)),
    "a run starts when it was created, or later":
      run.startedAt === null || run.startedAt >= run.createdAt || run.forkedFrom !== undefined,
    "its events and its end follow its start": areInOrder(run, history),
    "no more messages are consumed than were delivered": run.consumed <= run.delivered,
    "the inbox is in order, and only consumed results are missing":
      run.status === "continued" || isComplete(inbox, run),
    "a held run is not due and has a claim": !held || (run.availableAt === null && run.claimId !== null),
    "a run that no worker holds has no claim and is not alone": held || (run.claimId === null && !run.alone),
    "a held run is running or compensating": !held || run.status === "running" || run.status === "compensating",
    "the holder is not offline": !held || (holder !== undefined && holder.status !== "offline"),
    "workers.readHeld agrees with the row": listedAsHeld.map(([workerId]) => workerId).join() === (run.heldBy ?? ""),
    "a closed run has an end and is neither held nor due": !closed || (run.endedAt !== null && !held && !isDue(run)),
    "an open run has no end": closed || run.endedAt === null,
    "an open run is parked exactly when its last note of a park or a resume is a park":
      closed || (run.status === "parked") === isLastParked(history),
    "a parked run is not due": run.status !== "parked" || !isDue(run),
    "a pending or sleeping run has a due time, unless it waits for a place":
      !["pending", "sleeping"].includes(run.status) || isDue(run) || isInLine(run),
    "a run that is behind is held, due, parked or closed":
      !behind || held || isDue(run) || closed || run.status === "parked" || isInLine(run),
    "a fork has the events of its origin, and then that it was forked": isFork(run, history, contents),
    "only a continued run has a successor": (run.status === "continued") === (run.continuedAs !== null),
  };
  return Object.entries(rules)
    .filter(([, holds]) => !holds)
    .map(([rule]) => `${rule}: ${run.runId}`);
}

function isLastParked(history: readonly HistoryEvent[]): boolean {
  const last = history.findLast(({ type }) => type === "run_parked" || type === "run_resumed" || type === "run_forked");
  return last?.type === "run_parked";
}

/** The origin may have been purged. */
function isFork({ forkedFrom }: Run, history: readonly HistoryEvent[], contents: Contents): boolean {
  const cut = history.findLastIndex(({ type }) => type === "run_forked");
  if (forkedFrom === undefined || cut < 0) return (forkedFrom === undefined) === cut < 0;
  if (!contents.runs.some(({ runId }) => runId === forkedFrom.runId)) return true;
  const copied = contents.histories[forkedFrom.runId]?.slice(0, cut);
  return JSON.stringify(history.slice(0, cut)) === JSON.stringify(copied);
}

function brokenById(contents: Contents): string[] {
  const ids = new Set(contents.runs.map(idOf));
  return [...ids].flatMap((id) => {
    const runs = contents.runs.filter((run) => idOf(run) === id);
    const newestFirst = [...runs].sort((a, b) => b.createdAt - a.createdAt);
    const open = runs.filter((run) => !isClosed(run.status));
    const rules: Readonly<Record<string, boolean>> = {
      "an id has at most one open run": open.length <= 1,
      "the open run of an id is its newest": open.length === 0 || open[0] === newestFirst[0],
      "createdAt differs between the runs of an id": new Set(runs.map((run) => run.createdAt)).size === runs.length,
      "the newest run is found by id": contents.newest[id] === newestFirst[0]?.runId,
      "a successor belongs to the chain of its predecessor": runs.every((run) => isLinked(run, runs)),
    };
    return Object.entries(rules)
      .filter(([, holds]) => !holds)
      .map(([rule]) => `${rule}: ${id}`);
  });
}

function idOf(run: Run): string {
  return `${run.namespace}/${run.id}`;
}

function isLinked(run: Run, runs: readonly Run[]): boolean {
  if (run.continuedFrom === null) return run.firstRunId === run.runId;
  const from = runs.find(({ runId }) => runId === run.continuedFrom);
  // Missing because it was purged.
  return !from || (from.continuedAs === run.runId && from.firstRunId === run.firstRunId);
}

function areInOrder(run: Run, history: readonly HistoryEvent[]): boolean {
  const begun = run.startedAt ?? run.createdAt;
  const last = Math.max(begun, history.at(-1)?.at ?? begun);
  // A run can be paused before it begins.
  const first = history.find(({ type }) => !["run_parked", "run_resumed", "run_forked"].includes(type));
  return (first?.at ?? begun) >= begun && (run.endedAt === null || run.endedAt >= last);
}

function isDue(run: Run): boolean {
  return run.availableAt !== null;
}

function isInLine({ waitingFor }: Run): boolean {
  return waitingFor.some((entry) => entry.startsWith("queue:"));
}

function isCounted(items: readonly { readonly seq: number }[]): boolean {
  return items.every(({ seq }, i) => seq === i + 1);
}

function isComplete(inbox: readonly Message[], { delivered, consumed }: Run): boolean {
  const unread = inbox.filter(({ number }) => number > consumed);
  const inOrder = inbox.every(({ number }, i) => number > (inbox[i - 1]?.number ?? 0) && number <= delivered);
  return inOrder && unread.length === delivered - consumed;
}

/** It keeps the place that it had when its worker died. */
function isDueSuspect({ suspect, status }: Contents["tasks"][number]): boolean {
  return suspect && status === "due";
}

/** Limits may be lowered while there are more; so only what is given says something: that each place has one holder, which is open. */
function brokenByQueues({ queues = {}, runs, tasks }: Contents): string[] {
  return Object.values(queues)
    .flat()
    .flatMap(({ name, runs: load, tasks: taskLoad }) => {
      const open = (runId: string): boolean => runs.some((run) => run.runId === runId && !isClosed(run.status));
      const held = taskLoad.holders.filter(({ runId, op }) =>
        tasks.some((task) => task.runId === runId && task.op === op && (task.heldBy !== null || isDueSuspect(task))),
      );
      const rules: Readonly<Record<string, boolean>> = {
        "a place belongs to a run that is open": load.holders.every(({ runId }) => open(runId)),
        "a run has one place": new Set(load.holders.map(({ runId }) => runId)).size === load.holders.length,
        "a place of a task belongs to one that is held, or is to be executed alone":
          held.length === taskLoad.holders.length,
      };
      return Object.entries(rules)
        .filter(([, holds]) => !holds)
        .map(([rule]) => `${rule}: queue ${name}`);
    });
}
