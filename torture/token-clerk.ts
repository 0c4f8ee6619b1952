/**
 * Finishes tasks with their tokens, from outside. Every answer is given twice at the same moment: from the harness and, if there
 * is one, from a worker process that may die of it. Only one of the two may be accepted.
 */
import { isHoldfastError } from "holdfast";
import type { TortureClient } from "./torture-client.ts";
import type { TorturedWorker } from "./tortured-worker.ts";
import type { FinishOrder } from "./worker-messages.ts";
import type { PlannedAnswer } from "./workload.ts";

/** What was said about a task with its token, and whether that was accepted. */
export interface Answer {
  readonly runId: string;
  /** The event that scheduled the task. */
  readonly seq: number;
  readonly type: PlannedAnswer["type"];
  /** Names the answer; its result in history carries the token. */
  readonly token: string;
  readonly outcome: "done" | "refused" | "unknown";
}

export class TokenClerk {
  readonly answers: Answer[] = [];
  readonly #torture: TortureClient;
  readonly #processes: () => readonly TorturedWorker[];
  #count = 0;

  constructor(torture: TortureClient, processes: () => readonly TorturedWorker[]) {
    this.#torture = torture;
    this.#processes = processes;
  }

  /** The token of a task of the run that waits for an answer, other than the one before; undefined if there is none now. */
  async find(runId: string, before: string | undefined): Promise<string | undefined> {
    const { tasks } = await this.#torture.client.tasks.list({ runId, status: "external" });
    return tasks.find(({ token }) => token !== undefined && token !== before)?.token;
  }

  /** True once it is known that the attempt is over. */
  async give(token: string, planned: PlannedAnswer): Promise<boolean> {
    const processes = this.#processes();
    const process = processes[this.#count % Math.max(1, processes.length)];
    const here = this.#order(token, planned);
    const there = this.#order(token, planned);
    const said = await Promise.all([
      this.#say(here, () => this.#finish(here)),
      this.#say(there, () => (process ? process.finish(there) : this.#finish(there))),
    ]);
    return said.some((outcome) => outcome !== "unknown");
  }

  #order(token: string, { type, value }: PlannedAnswer): FinishOrder {
    this.#count += 1;
    return { token, type, result: { value, token: `answer:${this.#count}` } };
  }

  async #finish({ token, type, result }: FinishOrder): Promise<unknown> {
    const { tasks } = this.#torture.client;
    return type === "complete" ? tasks.complete(token, result) : tasks.fail(token, new Error(result.value));
  }

  async #say({ token, type, result }: FinishOrder, call: () => Promise<unknown>): Promise<Answer["outcome"]> {
    const outcome = await call().then(() => "done" as const, outcomeOf);
    const [runId = "", seq] = token.split(".");
    this.answers.push({ runId, seq: Number(seq), type, token: result.token, outcome });
    return outcome;
  }
}

function outcomeOf(error: unknown): "refused" | "unknown" {
  const { code } = error as { readonly code?: unknown };
  if (code === "task_closed") return "refused";
  const away = code === undefined || code === "store_unavailable" || code === "store_outcome_unknown";
  if (away || isHoldfastError(error, "client_closed")) return "unknown";
  throw error;
}
