/**
 * One worker in another language on one stream: the messages of the unary calls, answered in any order, and work for as many credits as it
 * has given. The stream owns no state: a worker whose stream breaks goes on with another one, or with unary calls.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type AttachRequest, type AttachResponseSchema, toRefusal } from "@holdfast/protocol";
import { HoldfastError } from "holdfast/adapter";
import type { Call } from "./call.ts";
import { requireReadable } from "./guard.ts";
import { POLL_MS_MAX } from "./long-poll.ts";
import { refused, required } from "./pages.ts";
import { untilAborted } from "./until-aborted.ts";
import type { WorkPolls } from "./work-polls.ts";
import type { Seat, WorkerSeats } from "./worker-seats.ts";

/** Calls of one stream that are answered at the same time; then the stream is not read any further. */
const CALLS_MAX = 64;
const CREDITS_MAX = 1_000;
/** How many runs and tasks are looked for at the same time. */
const POLLS_MAX = 16;

type Answer = MessageInitShape<typeof AttachResponseSchema>;
type Asked = AttachRequest["message"];
/** The unary calls, by their field. */
type Calls = Readonly<Record<string, (message: never, call: Call) => Promise<object>>>;

const CALL_NAMES: ReadonlySet<string | undefined> = new Set([
  "heartbeat",
  "beginStep",
  "completeStep",
  "failStep",
  "sleep",
  "completeWorkflow",
  "failWorkflow",
  "completeTask",
  "failTask",
  "heartbeatTask",
]);

export interface AttachmentParams {
  readonly calls: object;
  readonly seats: WorkerSeats;
  readonly polls: WorkPolls;
}

export class Attachment {
  readonly #params: AttachmentParams;
  readonly #call: Call;
  readonly #outbox: Answer[] = [];
  #wake = (): void => {};
  #seat: Seat | undefined;
  #credits = 0;
  #polling = 0;
  #open = 0;
  #onAnswered = (): void => {};
  #ended = false;
  /** What looks for work stops with the stream. */
  readonly #stop = new AbortController();
  readonly #polled: Call;
  #failure: unknown;

  constructor(params: AttachmentParams, call: Call) {
    this.#params = params;
    this.#call = call;
    this.#polled = { ...call, signal: AbortSignal.any([call.signal, this.#stop.signal]) };
  }

  async *answers(messages: AsyncIterable<AttachRequest>): AsyncGenerator<Answer> {
    const { signal, draining } = this.#call;
    const wake = (): void => this.#wake();
    signal.addEventListener("abort", wake);
    draining.addEventListener("abort", wake);
    const reading = this.#read(untilAborted(messages, signal)).catch((error: unknown) => {
      this.#failure = error;
    });
    void reading.then(() => {
      this.#ended = true;
      this.#wake();
    });
    let toldToGo = false;
    try {
      for (;;) {
        for (let next = this.#outbox.shift(); next; next = this.#outbox.shift()) yield next;
        if (this.#failure !== undefined) throw this.#failure;
        if (signal.aborted || (this.#ended && this.#open === 0)) return;
        if (draining.aborted && !toldToGo) {
          toldToGo = true;
          yield { message: { case: "goAway", value: {} } };
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          if (this.#outbox.length > 0 || signal.aborted || (this.#ended && this.#open === 0)) resolve();
        });
      }
    } finally {
      this.#ended = true;
      this.#stop.abort();
      signal.removeEventListener("abort", wake);
      draining.removeEventListener("abort", wake);
    }
  }

  async #read(messages: AsyncIterable<AttachRequest>): Promise<void> {
    for await (const { call, message } of messages) {
      if (this.#ended) return;
      // A key that was revoked ends the stream.
      await this.#call.stillAllowed?.();
      if (message.case === "hello") await this.#hello(call, message.value.workerId);
      else if (message.case === "credits") await this.#addCredits(message.value.more);
      else if (CALL_NAMES.has(message.case)) {
        if (this.#open >= CALLS_MAX)
          await new Promise<void>((resolve) => {
            this.#onAnswered = resolve;
          });
        void this.#answer(call, message);
      } else this.#refuse(call, refused("message", "is empty, or is not known to this server"));
    }
  }

  async #hello(call: bigint, workerId: string): Promise<void> {
    if (this.#seat) return this.#refuse(call, refused("hello", "was sent before"));
    this.#seat = await this.#params.seats.findLive(this.#call.namespace, required(workerId, "worker_id"));
    this.#push({ call, message: { case: "ready", value: { callsMax: CALLS_MAX } } });
  }

  async #addCredits(more: number): Promise<void> {
    await this.#call.readmit?.();
    if (more < 0 || this.#credits + more > CREDITS_MAX)
      throw refused("credits.more", `is ${more}; there can be at most ${CREDITS_MAX} credits`);
    this.#credits += more;
    this.#poll();
  }

  #poll(): void {
    while (this.#polling < Math.min(POLLS_MAX, this.#credits)) {
      this.#polling += 1;
      void this.#pollOnce();
    }
  }

  async #pollOnce(): Promise<void> {
    const seat = this.#seat as Seat;
    const { signal, draining } = this.#call;
    try {
      const wanted = { queues: seat.queues, names: seat.tasks, workflows: seat.workflows };
      const done = (): boolean => this.#ended || signal.aborted || draining.aborted || seat.draining;
      while (this.#credits >= this.#polling && !done()) {
        const found = await this.#params.polls.next(seat, wanted, POLL_MS_MAX, this.#polled);
        if (found === undefined) continue;
        this.#credits -= 1;
        this.#push({ call: 0n, message: { case: "task", value: found } });
      }
    } catch (error) {
      this.#failure ??= error;
      this.#wake();
    } finally {
      this.#polling -= 1;
    }
  }

  async #answer(call: bigint, message: Asked): Promise<void> {
    this.#open += 1;
    try {
      const name = message.case as string;
      const request = message.value as object;
      requireReadable(request);
      this.#requireSameNamespace(request);
      const perform = (this.#params.calls as Calls)[name] as Calls[string];
      const value = await perform(request as never, { ...this.#call, workerHeader: this.#seat?.workerId ?? null });
      this.#push({ call, message: { case: name, value } as Answer["message"] & object });
    } catch (error) {
      this.#refuse(call, error);
    } finally {
      this.#open -= 1;
      this.#onAnswered();
      this.#wake();
    }
  }

  #requireSameNamespace(request: { readonly namespace?: string }): void {
    const { namespace } = this.#call;
    if (request.namespace === undefined || request.namespace === "" || request.namespace === namespace) return;
    throw new HoldfastError("permission_denied", `This stream is for namespace "${namespace}".`);
  }

  #refuse(call: bigint, error: unknown): void {
    const { code, message, detail } = toRefusal(error);
    this.#push({ call, message: { case: "refusal", value: { status: code, message, error: detail } } });
  }

  #push(answer: Answer): void {
    this.#outbox.push(answer);
    this.#wake();
  }
}
