/**
 * What the watchdog does about a finding.
 *
 * Invariants
 *  W1. An action is for the run, or the attempt, as it was found: restarts are fenced by epoch, commit number and number of events, cancels by the epoch, the
 *      ends of attempts by theirs. What has moved since is left alone. So two watchdogs at once do no more than one.
 *  W2. Every action on a run is in its history, with who and why: before it has an effect, or in the same transaction.
 *  W3. A rule on trial (`dryRun`) calls nothing that writes.
 */
import { type JudgeHost, judgeFailure } from "../../calls/task-judgment.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { Finding, FoundRun, FoundTask, WatchdogAction } from "../../model/finding.ts";
import { DEFAULT_LIMITS, type Limits } from "../../model/limits.ts";
import { messageFrom } from "../../model/operator-notes.ts";
import type { Store } from "../../ports/store.ts";

/** By whom actions are, in histories. */
export const WATCHDOG = "watchdog";
/** How often a run is restarted that records nothing in between. */
export const RESTARTS_MAX = 3;

/** `moved`: it is not any more as it was found. `given_up`: it was restarted too often. */
export type ActionOutcome = "done" | "moved" | "given_up" | "failed";

export interface ActionsParams {
  readonly store: Store;
  readonly namespace: string;
  readonly limits?: Limits | undefined;
  readonly judge: JudgeHost;
}

interface Restarts {
  readonly commit: number;
  readonly times: number;
}

/** So many restarted runs are remembered. */
const RESTARTED_KEPT = 1_000;

export class Actions {
  readonly #params: ActionsParams;
  readonly #restarted = new Map<string, Restarts>();

  constructor(params: ActionsParams) {
    this.#params = params;
  }

  async act(action: WatchdogAction, finding: Finding): Promise<ActionOutcome> {
    const { run, task, detect, text } = finding;
    if (!run) return "moved";
    const reason = `${detect}: ${text}`;
    if (action === "cancel") return this.#cancel(run, reason);
    if (action === "restart") return this.#restart(run, reason);
    return task ? this.#timeOut(run, task, reason) : "moved";
  }

  async #cancel({ runId, epoch }: FoundRun, reason: string): Promise<ActionOutcome> {
    const { store, namespace, limits = DEFAULT_LIMITS } = this.#params;
    // Between finding it and this message it may have recorded something under the same epoch: only that is not noticed.
    const message = {
      to: { namespace, runId },
      kind: "cancel" as const,
      messageId: `\twatchdog\tcancel\t${runId}\t${epoch}`,
      epoch,
      ...messageFrom({ by: WATCHDOG, reason }),
    };
    const { outcomes } = await store.inbox.deliver({ messages: [message], inboxMax: limits.inboxMax });
    return outcomeOf(outcomes[0]?.outcome);
  }

  async #restart({ runId, epoch, commit, eventCount }: FoundRun, reason: string): Promise<ActionOutcome> {
    const { store, namespace } = this.#params;
    const before = this.#restarted.get(runId);
    const times = before?.commit === commit ? before.times : 0;
    if (times >= RESTARTS_MAX) return "given_up";
    const event = { type: "run_restarted", op: null, meta: { by: WATCHDOG, reason } } as const;
    const { outcome } = await store.runs.restartIfHeld({ namespace, runId, epoch, commit, eventCount, event });
    if (outcome === "busy") return "failed";
    if (outcome !== "restarted") return "moved";
    this.#restarted.delete(runId);
    this.#restarted.set(runId, { commit, times: times + 1 });
    if (this.#restarted.size > RESTARTED_KEPT) this.#restarted.delete(this.#restarted.keys().next().value as string);
    return "done";
  }

  /** The run is told first: an attempt that ends by itself in between has then been given up in vain, and that is in the history, too. */
  async #timeOut(run: FoundRun, found: FoundTask, reason: string): Promise<ActionOutcome> {
    const { store, namespace, limits = DEFAULT_LIMITS, judge } = this.#params;
    const { seq, op, epoch, attempt } = found;
    const { runId } = run;
    const [task] = await store.tasks.read({ namespace, tasks: [{ runId, seq }] });
    if (!task || task.epoch !== epoch || task.status !== "held") return "moved";
    const note = {
      to: { namespace, runId },
      kind: "note" as const,
      messageId: `\twatchdog\ttask\t${runId}\t${seq}\t${epoch}`,
      ...messageFrom({ by: WATCHDOG, reason: `ends attempt ${attempt} of task "${op}": ${reason}` }),
    };
    const { outcomes } = await store.inbox.deliver({ messages: [note], inboxMax: limits.inboxMax });
    const told = outcomeOf(outcomes[0]?.outcome);
    if (told !== "done") return told;
    const error = new HoldfastError(
      "task_timeout",
      `The watchdog has ended attempt ${attempt} of task "${op}". ${reason}`,
    );
    const finish = { namespace, runId, seq, epoch, by: { type: "order" as const } };
    const result = judgeFailure(task, { error, unknown: true }, judge);
    const ended = await store.tasks.finish({ finishes: [{ ...finish, result }] });
    return outcomeOf(ended.outcomes[0]?.outcome);
  }
}

const DONE: ReadonlySet<string> = new Set(["delivered", "duplicate", "done", "closed"]);

function outcomeOf(outcome: string | undefined): ActionOutcome {
  if (outcome === "busy") return "failed";
  return DONE.has(outcome ?? "") ? "done" : "moved";
}
