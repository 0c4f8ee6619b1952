/** What a session wants hints of. */
import { EVERY_NAMESPACE, type StoreInterest } from "@holdfast/protocol/store";
import type { Hint } from "holdfast/adapter";
import { type Caller, hasRole, ownerOf } from "./caller.ts";

/** Runs, workers and questions of one session, at most. */
const NAMES_MAX = 100_000;

export class SessionInterest {
  readonly #caller: Caller;
  readonly #runs = new Set<string>();
  readonly #asks = new Set<string>();
  readonly #workers = new Map<string, { readonly namespace: string; readonly queues: ReadonlySet<string> }>();
  #namespaces: ReadonlySet<string> = new Set();

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Returns the runs that are new. */
  change({ anew, runs, notRuns, workers, notWorkers, namespaces }: StoreInterest): readonly string[] {
    if (anew) {
      this.#runs.clear();
      this.#workers.clear();
      this.#namespaces = new Set(namespaces);
    }
    for (const runId of notRuns) this.#runs.delete(runId);
    for (const workerId of notWorkers) this.#workers.delete(workerId);
    for (const { workerId, namespace, queues } of workers) {
      if (this.#workers.size >= NAMES_MAX || !hasRole(this.#caller, "worker", namespace)) continue;
      this.#workers.set(workerId, { namespace, queues: new Set(queues) });
    }
    const added = runs.filter((runId) => !this.#runs.has(runId));
    for (const runId of added) if (this.#runs.size < NAMES_MAX) this.#runs.add(runId);
    return added;
  }

  ask(askId: string): void {
    if (this.#asks.size < NAMES_MAX) this.#asks.add(askId);
  }

  forgetAsk(askId: string): void {
    this.#asks.delete(askId);
  }

  wants(hint: Hint): boolean {
    if (this.#namespaces.size > 0 && this.#wantsAll(hint)) return true;
    switch (hint.type) {
      case "due":
      case "task_due":
        return this.#serves(hint.namespace, hint.queue);
      case "asked":
        return this.#serves(hint.namespace, undefined);
      case "inbox":
      case "taken":
      case "task":
        return this.#workers.has(hint.workerId);
      case "ended":
        return this.#runs.has(hint.runId) && this.#caller.allows("reader", ownerOf(hint.namespace));
      case "replied":
        return this.#runs.has(hint.runId);
      case "answered":
        return this.#asks.has(hint.askId);
      default:
        // About duties, which are the server's own.
        return false;
    }
  }

  #wantsAll(hint: Hint): boolean {
    if (!("namespace" in hint)) return this.#namespaces.has(EVERY_NAMESPACE) && this.#caller.duties === true;
    const { namespace } = hint;
    if (!this.#namespaces.has(namespace) && !this.#namespaces.has(EVERY_NAMESPACE)) return false;
    return this.#caller.allows("reader", ownerOf(namespace));
  }

  /** A worker also serves the batches of its namespace, whatever their queue is. */
  #serves(namespace: string, queue: string | undefined): boolean {
    const owner = ownerOf(namespace);
    for (const worker of this.#workers.values()) {
      if (worker.namespace === namespace && (queue === undefined || worker.queues.has(queue))) return true;
      if (owner !== namespace && worker.namespace === owner) return true;
    }
    return false;
  }
}
