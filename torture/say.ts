/** What clients say to runs: from the harness, or from a process that may die of it. */
import type { Client } from "holdfast";
import { add } from "./conversation-workloads.ts";
import type { TorturedWorker } from "./tortured-worker.ts";
import type { SayOrder } from "./worker-messages.ts";
import { definitionNamed } from "./workflows.ts";
import { nudge } from "./workload.ts";

const RETRY_MS = 50;

/** An answer that a client was given. */
export interface Said {
  /** The run's. */
  readonly id: string;
  readonly kind: SayOrder["kind"];
  /** The message's. */
  readonly token: string;
  readonly value?: unknown;
  /** Of the error, if it was refused. */
  readonly code?: string;
}

export async function say(client: Client, { kind, workflow, id, input, sent }: SayOrder): Promise<unknown> {
  const definition = definitionNamed(workflow);
  const { token } = sent;
  if (kind === "update") return client.get(definition, id).update(add, sent, { id: token });
  if (kind === "update-with-start")
    return (await client.updateWithStart(definition, input, add, sent, { id, updateId: token })).result;
  await client.signalWithStart(definition, input, nudge, sent, { id, signalId: token });
  return null;
}

/** Says everything twice at the same moment, in two places, each of them until it has an answer. */
export class Talker {
  readonly said: Said[] = [];
  readonly #client: Client;
  readonly #processes: () => readonly TorturedWorker[];
  readonly #late: Promise<void>[] = [];
  #count = 0;
  #givenUp = false;

  constructor(client: Client, processes: () => readonly TorturedWorker[]) {
    this.#client = client;
    this.#processes = processes;
  }

  /** Resolves with the first answer; the second place may still be asking, and must not change anything. */
  async tell(order: SayOrder): Promise<void> {
    const places = [
      this.#ask(order, this.#count % 3 === 0 ? this.#place() : undefined),
      this.#ask(order, this.#place()),
    ];
    this.#late.push(...places);
    await Promise.race(places);
  }

  /** Until everybody who asked has an answer. */
  async untilAnswered(): Promise<void> {
    await Promise.all(this.#late.splice(0));
  }

  /** Asks for an answer that was given before. */
  async again(order: SayOrder): Promise<void> {
    await this.#ask(order, undefined);
  }

  giveUp(): void {
    this.#givenUp = true;
  }

  #place(): TorturedWorker | undefined {
    const processes = this.#processes();
    this.#count += 1;
    return processes[this.#count % Math.max(1, processes.length)];
  }

  async #ask(order: SayOrder, first: TorturedWorker | undefined): Promise<void> {
    const { id, kind, sent } = order;
    for (let place = first; !this.#givenUp; place = this.#place()) {
      try {
        const value = await (place ? place.say(order) : say(this.#client, order));
        this.said.push({ id, kind, token: sent.token, value });
        return;
      } catch (error) {
        const code = refusalOf(error);
        if (code !== undefined) {
          this.said.push({ id, kind, token: sent.token, code });
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}

/** Undefined if it is not known what has become of the call: the process died, or the store did not answer. */
function refusalOf(error: unknown): string | undefined {
  const { code } = error as { readonly code?: string };
  const away = ["store_unavailable", "store_outcome_unknown", "client_closed"];
  return code === undefined || away.includes(code) ? undefined : code;
}
