import { runNotFound } from "../calls/refused-message.ts";
import type { HistoryEvent } from "../model/event.ts";
import { isClosed, type Run, type RunStatus } from "../model/run.ts";
import { waitingOps } from "../model/waiting.ts";
import { type ByRunId, refOf } from "./call-checks.ts";
import type { Cause } from "./cause.ts";
import type { ClientCore } from "./client-core.ts";
import { limitCauses } from "./limit-causes.ts";
import { lockCauses } from "./lock-causes.ts";
import { type Follow, otherCauses } from "./other-causes.ts";
import { foldSteps } from "./step-view.ts";
import { placesInLine } from "./task-causes.ts";
import { openTasks, withTasks } from "./task-steps.ts";
import { causesOf, type Findings, type PendingCancel, type RequestedCancel } from "./why-causes.ts";
import { reasonOf } from "./why-reason.ts";

/** The answer of `hf.why(id)`. */
export interface Why {
  readonly status: RunStatus;
  /** What the run waits for, in a few sentences. */
  readonly reason: string;
  readonly waitingFor: readonly string[];
  readonly dueAt: Date | null;
  readonly workerId: string | null;
  /** The same for programs: everything known to keep the run from ending, running steps first. */
  readonly causes: readonly Cause[];
  /** A cancel request that has not finished: the run has not received it yet, or is being wound up. */
  readonly cancelRequested: RequestedCancel | null;
}

/** So many other runs are looked at, to say what they wait for in turn. */
const RUNS_MAX = 40;

interface Known extends Pick<Findings, "workers" | "now"> {
  readonly budget: { left: number };
}

export async function explainRun(core: ClientCore, named: string | ByRunId): Promise<Why> {
  const { namespace } = core;
  const ref = refOf(namespace, named);
  const [run] = await core.call((store) => store.runs.read({ runs: [ref] }));
  if (!run) throw runNotFound("id" in ref ? ref.id : ref.runId, namespace);
  const workers = await core.call((store) => store.workers.list({ namespace }));
  const { now } = await core.call((store) => store.readClock());
  const findings = await findingsOf(core, run, { workers, now, budget: { left: RUNS_MAX } }, []);
  const { cancel } = findings;
  const causes = causesOf(findings);
  return {
    status: run.status,
    reason: reasonOf(findings, causes),
    waitingFor: waitingOps(run.waitingFor),
    dueAt: run.availableAt === null ? null : new Date(run.availableAt),
    workerId: run.heldBy,
    causes,
    cancelRequested: cancel ? { at: cancel.at, reason: cancel.reason } : null,
  };
}

/** `path`: the runs that wait for this one, the one that was asked about first. */
async function findingsOf(core: ClientCore, run: Run, known: Known, path: readonly Run[]): Promise<Findings> {
  const closed = isClosed(run.status);
  const events = closed ? [] : await core.readHistory(run);
  const cancel = closed ? undefined : await pendingCancel(core, run, events);
  const live = core.look(run.runId);
  const recorded = foldSteps({ run, events, codec: null, live });
  const open = await openTasks(core, run.runId, recorded);
  const steps = withTasks(recorded, open);
  const tasks = await placesInLine(core, open, known.now);
  const explain = async (other: Run): Promise<Cause | undefined> => {
    const causes = causesOf(await findingsOf(core, other, known, [...path, run]));
    return causes.find(({ circle }) => circle !== undefined) ?? causes[0];
  };
  const follow: Follow = { core, path: [...path, run], explain, budget: known.budget };
  const others = [...(await lockCauses(core, run, steps, follow)), ...(await otherCauses(steps, follow))];
  const { workers, now } = known;
  const since = events.at(-1)?.at ?? run.createdAt;
  const limits = closed ? [] : await limitCauses(core, run, open, { since, now }, follow);
  const departed = run.status === "moved" && (await isOnItsWay(core, run));
  return { run, workers, now, events, steps, live, cancel, tasks, limits, others, departed };
}

/** Whether a run that has moved is not known to have arrived. */
async function isOnItsWay(core: ClientCore, { namespace, runId }: Run): Promise<boolean> {
  const departures = await core.call((store) => store.transfers.departures({ namespace, runId, limit: 1 }));
  return departures.length > 0;
}

/** The first cancel counts. A cancel in the inbox has not been received yet. */
async function pendingCancel(
  core: ClientCore,
  { namespace, runId, delivered, consumed }: Run,
  events: readonly HistoryEvent[],
): Promise<PendingCancel | undefined> {
  const event = events.find(({ type }) => type === "cancel_requested");
  if (event) return { at: new Date(event.at), reason: event.meta?.reason ?? null, takenIn: true };
  if (delivered <= consumed) return undefined;
  const messages = await core.call((store) => store.inbox.read({ runs: [{ namespace, runId, after: consumed }] }));
  const message = messages.find(({ kind }) => kind === "cancel");
  return message && { at: new Date(message.at), reason: message.name === "" ? null : message.name, takenIn: false };
}
