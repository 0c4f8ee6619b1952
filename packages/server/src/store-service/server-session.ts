/**
 * The server's side of one session. It owns no state but what is in flight: when it ends, its calls still take effect, and nobody is told.
 *
 * 1. A ping is answered before anything else, and a store error answers its call and nothing more.
 * 2. After so many unanswered calls or bytes the session is not read from: the network holds the sender.
 * 3. Hints that the client does not take are dropped, and it is told once that it should look.
 */
import type { Buffer } from "node:buffer";
import {
  type Link,
  MessageReader,
  Outbox,
  PartGatherer,
  packBody,
  partsOf,
  readRequest,
  responseBytes,
  type SessionRequest,
  type StoreHello,
  type StoreInterest,
  type StoreWelcome,
  toStoreError,
} from "@holdfast/protocol/store";
import type { Clock, Hint, PutAsksParams, ReadAsksParams, StoreMethod, Timer } from "holdfast/adapter";
import type { Caller } from "./caller.ts";
import type { Calls } from "./calls.ts";
import type { HintHub } from "./hint-hub.ts";
import { SessionInterest } from "./interest.ts";
import type { ServiceLimits } from "./service-limits.ts";

/** Calls beyond the limit that a client may have begun: heartbeats go ahead of it. */
const SPARE_CALLS = 16;

export interface ServerSessionParams {
  readonly link: Link;
  readonly clock: Clock;
  readonly calls: Calls;
  readonly hub: HintHub;
  readonly caller: Caller;
  readonly limits: ServiceLimits;
  /** Throws if there can be no session with this client. */
  readonly welcome: (hello: StoreHello) => StoreWelcome;
  readonly onClosed: (session: ServerSession) => void;
}

interface Incoming {
  readonly method: string;
  readonly endsAt: number;
  bytes: number;
}

export class ServerSession {
  readonly #params: ServerSessionParams;
  readonly #outbox: Outbox;
  readonly #reader: MessageReader;
  readonly #parts: PartGatherer;
  readonly #interest: SessionInterest;
  /** Calls whose parts have not all arrived. */
  readonly #incoming = new Map<number, Incoming>();
  /** Ends a session that says nothing. */
  readonly #silence: Timer;
  #greeted = false;
  #unanswered = 0;
  #bytes = 0;
  #paused = false;
  #hints: Hint[] = [];
  #hintsScheduled = false;
  #hintsLost = false;
  #leaving = false;
  #over = false;
  #forget: () => void = () => {};

  constructor(params: ServerSessionParams) {
    const { limits } = params;
    this.#params = params;
    this.#outbox = new Outbox(params.link);
    this.#reader = new MessageReader(limits.partBytes + limits.envelopeBytes);
    this.#parts = new PartGatherer(limits.callBytesMax);
    this.#interest = new SessionInterest(params.caller);
    this.#silence = params.clock.setTimer(limits.helloMs, () => this.close());
    this.#silence.unref?.();
  }

  get unanswered(): number {
    return this.#unanswered;
  }

  data(chunk: Buffer): void {
    if (this.#over) return;
    try {
      for (const message of this.#reader.read(chunk)) this.#take(readRequest(message));
    } catch (error) {
      this.#refuse(error);
    }
  }

  drained(): void {
    this.#outbox.drained();
    if (this.#hints.length > 0) this.#scheduleHints();
  }

  closed(): void {
    if (this.#over) return;
    this.#over = true;
    this.#silence.cancel();
    this.#forget();
    this.#outbox.close();
    this.#params.onClosed(this);
  }

  /** Asks the client to open another session. */
  goAway(): void {
    if (this.#over) return;
    this.#leaving = true;
    if (this.#greeted) this.#outbox.sendFirst(responseBytes({ control: { case: "goAway", value: true } }));
  }

  /** At once. */
  close(): void {
    this.#params.link.destroy();
    this.closed();
  }

  wants(hint: Hint): boolean {
    return this.#interest.wants(hint);
  }

  hint(hint: Hint): void {
    if (this.#hints.length >= this.#params.limits.unsentHintsMax) {
      this.#hints = [];
      this.#hintsLost = true;
    } else if (!this.#hintsLost) this.#hints.push(hint);
    this.#scheduleHints();
  }

  /** Together with what else is hinted in this turn, and only when the client takes what was sent before. */
  #scheduleHints(): void {
    if (this.#hintsScheduled) return;
    this.#hintsScheduled = true;
    this.#params.clock.immediate(() => {
      this.#hintsScheduled = false;
      if (this.#over || !this.#outbox.empty) return;
      if (this.#hintsLost) {
        this.#hintsLost = false;
        this.#outbox.sendFirst(responseBytes({ control: { case: "hintsLost", value: true } }));
      } else if (this.#hints.length > 0) {
        const hints = this.#hints;
        this.#hints = [];
        this.#outbox.sendFirst(responseBytes({ control: { case: "hints", value: packBody(hints) } }));
      }
    });
  }

  #take(request: SessionRequest): void {
    const { control } = request;
    if (control.case === "ping")
      this.#outbox.sendFirst(responseBytes({ control: { case: "pong", value: control.value } }));
    else if (control.case === "hello") this.#greet(control.value);
    else if (!this.#greeted) throw new Error("a session begins with hello");
    else if (control.case === "interest") this.#want(control.value);
    else if (request.call > 0) this.#gather(request);
  }

  #greet(hello: StoreHello): void {
    if (this.#greeted) throw new Error("a session begins with hello once");
    this.#silence.cancel();
    const welcome = this.#params.welcome(hello);
    this.#greeted = true;
    this.#outbox.sendFirst(responseBytes({ control: { case: "welcome", value: welcome } }));
    this.#forget = this.#params.hub.add(this);
    if (hello.interest) this.#want(hello.interest);
    if (this.#leaving) this.goAway();
  }

  #want(interest: StoreInterest): void {
    const added = this.#interest.change(interest);
    for (const hint of this.#params.hub.recentAbout(added)) if (this.wants(hint)) this.hint(hint);
  }

  #gather({ call, method, deadlineMs, body, more }: SessionRequest): void {
    const { clock, limits } = this.#params;
    const begun = this.#incoming.get(call);
    // Parts of a call that was refused.
    if (!begun && method === "") return;
    const incoming = begun ?? { method, endsAt: clock.monotonic() + deadlineMs, bytes: 0 };
    if (!begun) this.#unanswered += 1;
    incoming.bytes += body.length;
    this.#bytes += body.length;
    if (more) this.#incoming.set(call, incoming);
    else this.#incoming.delete(call);
    if (this.#incoming.size > limits.callsInFlightMax + SPARE_CALLS) throw new Error("too many calls at once");
    try {
      const whole = this.#parts.add(call, body, more);
      if (whole) void this.#answer(call, incoming, whole);
    } catch (error) {
      this.#incoming.delete(call);
      this.#outbox.sendFirst(responseBytes({ call, error: toStoreError(error) }));
      this.#answered(incoming);
    }
    this.#heed();
  }

  async #answer(call: number, incoming: Incoming, body: Uint8Array): Promise<void> {
    const { calls, caller, limits } = this.#params;
    const { method, endsAt } = incoming;
    const onParams = (known: StoreMethod, params: unknown): void => this.#noteAsks(known, params);
    try {
      const answer = await calls.make({ method, body, endsAt, caller, onParams });
      if (this.#over) return;
      this.#send(call, answer, limits.partBytes);
    } catch (error) {
      if (!this.#over) this.#outbox.sendFirst(responseBytes({ call, error: toStoreError(error) }));
    } finally {
      this.#answered(incoming);
    }
  }

  /** An answer that the client does not take counts as if the call were unanswered. */
  #send(call: number, answer: Uint8Array, partBytes: number): void {
    const parts = partsOf(answer, partBytes);
    this.#bytes += answer.length;
    const onSent = (): void => {
      this.#bytes -= answer.length;
      this.#heed();
    };
    const messages = parts.map((part, i) => () => responseBytes({ call, body: part, more: i < parts.length - 1 }));
    this.#outbox.send(messages, { onSent });
  }

  #answered({ bytes }: Incoming): void {
    this.#unanswered -= 1;
    this.#bytes -= bytes;
    this.#heed();
  }

  /** Whoever asks wants to know of the answer. */
  #noteAsks(method: StoreMethod, params: unknown): void {
    if (method === "asks.ask") for (const { askId } of (params as PutAsksParams).asks) this.#interest.ask(askId);
    if (method === "asks.forget")
      for (const { askId } of (params as ReadAsksParams).asks) this.#interest.forgetAsk(askId);
  }

  /** Reads on, or does not. */
  #heed(): void {
    const { limits, link } = this.#params;
    const full = this.#unanswered >= limits.callsInFlightMax || this.#bytes >= limits.unansweredBytesMax;
    if (full === this.#paused || this.#over) return;
    this.#paused = full;
    if (full) link.pause();
    else link.resume();
  }

  /** What it has sent cannot be understood: it is told so, and the session ends. */
  #refuse(error: unknown): void {
    this.#outbox.sendFirst(responseBytes({ error: toStoreError(error) }));
    void Promise.resolve().then(() => {
      this.#params.link.end();
      this.closed();
    });
  }
}
