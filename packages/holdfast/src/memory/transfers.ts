/** Runs that leave for another store, or arrive from one. */
import { judgeArrival } from "../model/decisions/arrival.ts";
import { isDue } from "../model/decisions/due-time.ts";
import { isResult } from "../model/message.ts";
import { isClosed } from "../model/run.ts";
import { outOfLine, type RunImage, type RunRest, type RunTie, type TaskImage } from "../model/transfer.ts";
import type {
  ArrivalOutcome,
  DepartOutcome,
  DepartParams,
  Departure,
  DeparturesParams,
  TransferParams,
  TransferRef,
} from "../ports/store.ts";
import { endRun } from "./runs/ends.ts";
import { purgeRun } from "./runs/purges.ts";
import {
  addTo,
  findRun,
  idKey,
  keepRun,
  type MemoryState,
  noteQueue,
  type RunRecord,
  runIn,
  setAvailable,
} from "./state.ts";
import { deleteTask, taskKey, tasksOfRun } from "./tasks/task-state.ts";

export function identifyStore(
  state: MemoryState,
  { storeId }: { readonly storeId: string },
): { readonly storeId: string } {
  state.storeId ??= storeId;
  return { storeId: state.storeId };
}

export function readRests(
  state: MemoryState,
  { runs }: { readonly runs: readonly TransferRef[] },
  now: number,
): (RunRest | null)[] {
  return runs.map(({ namespace, runId }) => {
    const row = runIn(state, namespace, runId);
    return row ? restOf(state, row, now) : null;
  });
}

export function departRunIfIdle(state: MemoryState, params: DepartParams, now: number): DepartOutcome {
  const { namespace, runId, epoch, commit, delivered, departureId, target, to, error } = params;
  const row = runIn(state, namespace, runId);
  if (!row) return { outcome: "not_found" };
  const earlier = state.departures.get(runId);
  if (earlier?.epoch === epoch + 1 && row.epoch === epoch + 1 && earlier.departureId === departureId)
    return { outcome: "departed", rest: earlier.rest };
  if (isClosed(row.status)) return { outcome: "changed" };
  const tasks = tasksOfRun(state, runId);
  if (row.heldBy !== null || tasks.some(({ heldBy }) => heldBy !== null)) return { outcome: "held" };
  if (row.epoch !== epoch || row.commit !== commit || row.delivered !== delivered) return { outcome: "changed" };
  const tie = tieOf(state, row);
  if (tie) return { outcome: "tied", tie };
  const rest = restOf(state, row, now);
  row.epoch += 1;
  for (const task of tasks) deleteTask(state, task);
  endRun(state, row, { status: "moved", output: null, error }, now);
  state.departures.set(runId, { namespace, runId, epoch: row.epoch, departureId, target, to, at: now, rest });
  return { outcome: "departed", rest };
}

export function listDepartures(state: MemoryState, params: DeparturesParams): Departure[] {
  const { namespace, runId, after = "", limit } = params;
  const found = [...state.departures.values()].filter(
    (one) => one.namespace === namespace && one.runId > after && (runId === undefined || one.runId === runId),
  );
  found.sort((a, b) => (a.runId < b.runId ? -1 : 1));
  return found.slice(0, limit).map(({ departureId: _departureId, ...departure }) => departure);
}

export function confirmDeparture(state: MemoryState, { namespace, runId, epoch }: TransferParams): void {
  const departure = state.departures.get(runId);
  if (departure?.namespace === namespace && departure.epoch === epoch) state.departures.delete(runId);
}

function restOf(state: MemoryState, row: RunRecord, now: number): RunRest {
  const { status, availableAt, waitingFor, error, runId, firstRunId } = row;
  const own = new Set((state.inbox.get(runId) ?? []).map(({ messageId }) => messageId));
  const earlier = [...(state.messageIds.get(firstRunId) ?? [])].filter((id) => !own.has(id)).sort();
  const answered = [...(state.updates.get(firstRunId)?.values() ?? [])].filter((update) => update.runId === runId);
  const rest: RunRest = {
    ...{ status, availableAt, waitingFor, error },
    parkedBy: state.parkedBy.get(runId) ?? null,
    knownIds: isClosed(status) ? [] : earlier.map((messageId) => ({ messageId, kind: "signal" as const })),
    updates: answered
      .flatMap(({ number, reply }) => (reply ? [{ number, seq: reply.seq ?? null, error: reply.error ?? null }] : []))
      .sort((a, b) => a.number - b.number),
    tasks: isClosed(status) ? [] : tasksOfRun(state, runId).map((task) => taskImage(task, now)),
  };
  return outOfLine(rest, now);
}

type Kept = ReturnType<typeof tasksOfRun>[number];

function taskImage(task: Kept, now: number): TaskImage {
  const { seq, inputSeq, op, name, queue, requires, priority, epoch, secret, attempt, expiresAt, expires } = task;
  const { canceled, deaths, aloneDeaths, suspect, failOnCrash, createdAt, details, failures } = task;
  const { external, beganAt, finishId, key = null } = task;
  return {
    ...{ seq, inputSeq, op, name, queue, requires, priority, epoch, secret, attempt, expiresAt, expires },
    ...{ canceled, deaths, aloneDeaths, suspect, failOnCrash, createdAt, details, failures },
    ...{ external, beganAt, finishId, key, ...task.limits },
    status: task.status as TaskImage["status"],
    availableAt: task.inLine ? now : task.availableAt,
  };
}

// Ties ----------------------------------------------------------------------------------------------------------------

function tieOf(state: MemoryState, row: RunRecord): RunTie | undefined {
  const { runId, firstRunId } = row;
  if (state.debtsOf.has(runId)) return "owes";
  if ((state.locksOf.get(runId)?.size ?? 0) > 0) return "locks";
  if ((state.watches.get(firstRunId)?.length ?? 0) > 0) return "watched";
  for (const watches of state.watches.values()) if (watches.some((watch) => watch.runId === runId)) return "watches";
  for (const updates of state.updates.values())
    for (const update of updates.values()) {
      if (update.replyTo?.runId === runId) return "asks";
      if (update.replyTo && update.runId === runId) return "asked";
    }
  for (const child of state.children.get(runId)?.values() ?? []) {
    const chain = [...state.runs.values()].filter((other) => other.firstRunId === child.runId);
    if (chain.some((other) => !child.givenUp && (!isClosed(other.status) || state.debtsOf.has(other.runId))))
      return "children";
  }
  const parent = row.lineage && findRun(state, { namespace: row.lineage.parent.namespace, id: row.lineage.parent.id });
  if (parent && (!isClosed(parent.status) || state.debtsOf.has(parent.runId))) return "parent";
  return undefined;
}

// Arrivals ------------------------------------------------------------------------------------------------------------

export function arriveRun(
  state: MemoryState,
  { image }: { readonly image: RunImage },
  now: number,
): { readonly outcome: ArrivalOutcome } {
  const { runId, namespace, id, status, epoch, createdAt } = image.run;
  const closed = isClosed(status);
  const same = state.runs.get(runId);
  const others = (state.byId.get(idKey(namespace, id)) ?? []).filter((other) => other !== runId);
  const [oldest, newest] = [others[0], others.at(-1)].map((other) => state.runs.get(other ?? ""));
  const judged = judgeArrival(
    { closed, epoch, createdAt },
    {
      same: same && { moved: same.namespace === namespace && same.status === "moved", epoch: same.epoch },
      noted: state.arrivals.get(runId),
      newest: newest && { closed: isClosed(newest.status), createdAt: newest.createdAt },
      oldest,
    },
  );
  const noted = state.arrivals.get(runId);
  const refused = judged === "exists" || judged === "id_taken" ? judged : null;
  if (!closed && (!noted || noted.epoch < epoch)) state.arrivals.set(runId, { epoch, refused });
  if (refused || judged === "arrived") return { outcome: refused ?? "arrived" };
  if (same) {
    purgeRun(state, same);
    state.departures.delete(runId);
  }
  insertImage(state, image, now);
  return { outcome: "arrived" };
}

function insertImage(state: MemoryState, { run, events, messages, rest }: RunImage, now: number): void {
  const closed = isClosed(run.status);
  const row: RunRecord = { ...run, heldBy: null, claimId: null, alone: false, availableAt: null };
  const { runId, firstRunId } = row;
  keepRun(state, row);
  noteQueue(state, row);
  const key = idKey(row.namespace, row.id);
  if (closed) state.byId.set(key, [runId, ...(state.byId.get(key) ?? [])]);
  else addTo(state.byId, key, runId);
  state.events.set(runId, [...events]);
  if (messages.length > 0)
    state.inbox.set(
      runId,
      messages.map((message) => ({ ...message, runId })),
    );
  for (const { messageId, kind } of [...messages, ...rest.knownIds]) {
    if (isResult(kind)) continue;
    const ids = state.messageIds.get(firstRunId);
    if (ids) ids.add(messageId);
    else state.messageIds.set(firstRunId, new Set([messageId]));
  }
  for (const { messageId, kind, number, name } of messages) {
    if (kind !== "update") continue;
    const answer = rest.updates.find((update) => update.number === number);
    const reply = answer && {
      number,
      ...(answer.seq === null ? {} : { seq: answer.seq }),
      ...(answer.error === null ? {} : { error: answer.error }),
    };
    const updates = state.updates.get(firstRunId) ?? new Map();
    if (!updates.has(messageId)) updates.set(messageId, { runId, number, name, replyTo: undefined, reply });
    state.updates.set(firstRunId, updates);
  }
  if (closed) return;
  if (row.deadlineAt !== null) state.deadlines.add(runId);
  if (rest.parkedBy !== null) state.parkedBy.set(runId, rest.parkedBy);
  setAvailable(state, row, run.availableAt, now);
  if (row.availableAt !== null && !isDue(row.availableAt, now))
    state.hints.push({ type: "due", namespace: row.namespace, queue: row.queue, at: row.availableAt });
  for (const task of rest.tasks) insertTaskImage(state, row, task, now);
}

function insertTaskImage(state: MemoryState, { namespace, runId }: RunRecord, image: TaskImage, now: number): void {
  const { timeoutMs, startTimeoutMs, totalTimeoutMs, heartbeatMs, key, ...task } = image;
  const limits = { timeoutMs, startTimeoutMs, totalTimeoutMs, heartbeatMs };
  const record = { ...task, namespace, runId, limits, key: key ?? undefined, inLine: false };
  const kept: Kept = { ...record, heldBy: null, claimId: null, alone: false };
  const place = taskKey(kept);
  state.tasks.set(place, kept);
  noteQueue(state, kept);
  const keys = state.tasksOf.get(runId);
  if (keys) keys.add(place);
  else state.tasksOf.set(runId, new Set([place]));
  const { queue, availableAt } = kept;
  if (availableAt === null) return;
  state.dueTasks.add(place);
  state.hints.push({ type: "task_due", namespace, queue, ...(isDue(availableAt, now) ? {} : { at: availableAt }) });
}
