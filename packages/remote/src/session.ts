/**
 * One session with a server: calls go out with a number, answers come back in any order.
 *
 * 1. A call is answered once: by the server, by its deadline, or by the end of the session.
 * 2. A call that never left this process had no effect: `store_unavailable`. One that did, and has no answer, may have had:
 *    `store_outcome_unknown`, unless it only reads.
 * 3. A session that is silent while somebody waits is asked for a sign of life, and given up without one. Its end changes nothing about
 *    what its workers hold: that is for their leases to say.
 */
import type { Buffer } from "node:buffer";
import {
  fromStoreError,
  type Link,
  MessageReader,
  Outbox,
  PartGatherer,
  partsOf,
  readResponse,
  requestBytes,
  type SessionResponse,
  STORE_CALL_TABLE,
  type StoreHello,
  type StoreInterest,
  type StoreWelcome,
  unpackBody,
} from "@holdfast/protocol/store";
import { type Clock, type Hint, HoldfastError, type StoreMethod, type Timer } from "holdfast/adapter";
import { interestParts } from "./interest.ts";
import { CALL_BYTES_MAX, CALLS_IN_FLIGHT_MAX, IDLE_PING_MS, MESSAGE_BYTES_MAX, PART_BYTES } from "./session-limits.ts";

/** These go ahead of everything: a lease depends on them. */
const URGENT: ReadonlySet<string> = new Set(["workers.heartbeat"]);

export interface SessionEvents {
  hints(hints: readonly Hint[]): void;
  /** Some were left out. */
  hintsLost(): void;
  /** The server wants its calls to go to another session. */
  goAway(): void;
  closed(session: Session, error: HoldfastError | undefined): void;
}

export interface SessionParams {
  readonly clock: Clock;
  readonly link: Link;
  readonly hello: StoreHello;
  readonly events: SessionEvents;
  /** How long silence is borne while somebody waits. */
  readonly deadMs: () => number;
}

interface Call {
  readonly id: number;
  readonly method: StoreMethod;
  readonly body: Uint8Array;
  readonly endsAt: number;
  readonly resolve: (body: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
  sent: boolean;
  withdraw: () => void;
}

export class Session {
  readonly #params: SessionParams;
  readonly #outbox: Outbox;
  readonly #reader = new MessageReader(MESSAGE_BYTES_MAX);
  readonly #parts = new PartGatherer(CALL_BYTES_MAX);
  /** In the order in which they were made. */
  readonly #calls = new Map<number, Call>();
  /** Calls that wait until others are answered. */
  readonly #held: Call[] = [];
  /** Calls whose callers have given up, and that the server still works on. */
  readonly #dropped = new Set<number>();
  #inFlight = 0;
  #callsMax = CALLS_IN_FLIGHT_MAX;
  #nextCall = 1;
  #heardAt: number;
  #ping: { readonly at: number } | undefined;
  #pings = 0;
  #timer: Timer | undefined;
  #leaving = false;
  #over = false;
  #welcome: { resolve(welcome: StoreWelcome): void; reject(error: unknown): void } | undefined;
  readonly welcome: Promise<StoreWelcome>;

  constructor(params: SessionParams) {
    this.#params = params;
    this.#outbox = new Outbox(params.link);
    this.#heardAt = params.clock.monotonic();
    this.welcome = new Promise((resolve, reject) => {
      this.#welcome = { resolve, reject };
    });
    this.welcome.catch(() => {});
    this.#outbox.sendFirst(requestBytes({ control: { case: "hello", value: params.hello } }));
    this.#watch();
  }

  get unanswered(): number {
    return this.#calls.size;
  }

  get over(): boolean {
    return this.#over;
  }

  call(method: StoreMethod, body: Uint8Array, limitMs: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const endsAt = this.#params.clock.monotonic() + limitMs;
      const id = this.#nextCall++;
      const call: Call = { id, method, body, endsAt, resolve, reject, sent: false, withdraw: () => {} };
      this.#calls.set(id, call);
      if (URGENT.has(method) || this.#inFlight < this.#callsMax) this.#send(call);
      else this.#held.push(call);
      if (this.#calls.size === 1) this.#watch();
    });
  }

  interest(interest: StoreInterest): void {
    if (this.#over) return;
    for (const value of interestParts(interest))
      this.#outbox.sendFirst(requestBytes({ control: { case: "interest", value } }));
  }

  /** Ends when its calls are answered. Nobody makes new ones. */
  leave(): void {
    this.#leaving = true;
    this.#leaveIfIdle();
  }

  /** At once. */
  close(error = unavailable("the session was closed")): void {
    this.#params.link.destroy();
    this.closed(error);
  }

  data(chunk: Buffer): void {
    if (this.#over) return;
    this.#heardAt = this.#params.clock.monotonic();
    this.#ping = undefined;
    try {
      for (const message of this.#reader.read(chunk)) this.#take(readResponse(message));
    } catch (cause) {
      this.close(unavailable(`the server sent something that cannot be read`, cause));
    }
  }

  drained(): void {
    this.#outbox.drained();
  }

  /** The link has ended. */
  closed(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#timer?.cancel();
    this.#outbox.close();
    const reason = error instanceof HoldfastError ? error : error && unavailable(error.message, error);
    this.#welcome?.reject(reason ?? unavailable("the server ended the session"));
    this.#welcome = undefined;
    const lost = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of lost) call.reject(lostReply(call, reason));
    this.#params.events.closed(this, reason);
  }

  #send(call: Call): void {
    this.#inFlight += 1;
    const { id, method, body } = call;
    const parts = partsOf(body, PART_BYTES);
    const messages = parts.map((part, i) => () => {
      const more = i < parts.length - 1;
      const deadlineMs = Math.max(1, Math.ceil(call.endsAt - this.#params.clock.monotonic()));
      return requestBytes({ call: id, body: part, more, ...(i === 0 ? { method, deadlineMs } : {}) });
    });
    if (URGENT.has(method) && messages.length === 1) {
      call.sent = true;
      this.#outbox.sendFirst((messages[0] as () => Buffer)());
      return;
    }
    call.withdraw = this.#outbox.send(messages, {
      onBegun: () => {
        call.sent = true;
      },
    });
  }

  #take(response: SessionResponse): void {
    const { control } = response;
    if (control.case === undefined) return this.#answer(response);
    if (control.case === "welcome") {
      const { limits } = control.value;
      if (limits && limits.callsInFlightMax > 0) this.#callsMax = Math.min(this.#callsMax, limits.callsInFlightMax);
      this.#welcome?.resolve(control.value);
      this.#welcome = undefined;
    } else if (control.case === "hints") this.#params.events.hints(unpackBody(control.value) as readonly Hint[]);
    else if (control.case === "hintsLost") this.#params.events.hintsLost();
    else if (control.case === "goAway") this.#params.events.goAway();
  }

  #answer({ call: id, body, more, error }: SessionResponse): void {
    if (id === 0) {
      // The session itself is refused.
      if (error) this.close(fromStoreError(error));
      return;
    }
    const call = this.#calls.get(id);
    if (!call) {
      // Its caller has given it up: what comes of it is not kept.
      if (this.#dropped.has(id) && !more) this.#forget(id);
      return;
    }
    const whole = error ? undefined : this.#parts.add(id, body, more);
    if (!error && whole === undefined) return;
    this.#calls.delete(id);
    this.#done();
    if (error) {
      this.#parts.drop(id);
      call.reject(fromStoreError(error));
    } else call.resolve(whole as Uint8Array);
    if (this.#calls.size === 0) this.#timer?.unref?.();
    this.#leaveIfIdle();
  }

  #forget(id: number): void {
    this.#dropped.delete(id);
    this.#done();
    this.#leaveIfIdle();
  }

  #done(): void {
    this.#inFlight -= 1;
    while (this.#held.length > 0 && this.#inFlight < this.#callsMax) {
      const next = this.#held.shift() as Call;
      if (this.#calls.has(next.id)) this.#send(next);
    }
  }

  #leaveIfIdle(): void {
    if (this.#leaving && this.#calls.size === 0 && !this.#over) this.#params.link.end();
  }

  /** Looks after deadlines and silence, often while somebody waits. */
  #watch(): void {
    this.#timer?.cancel();
    if (this.#over) return;
    const soon = this.#busy || this.#ping !== undefined;
    this.#timer = this.#params.clock.setTimer(soon ? this.#params.deadMs() / 4 : IDLE_PING_MS, () => this.#look());
    if (!this.#busy) this.#timer.unref?.();
  }

  /** Somebody waits. */
  get #busy(): boolean {
    return this.#calls.size > 0 || this.#welcome !== undefined;
  }

  #look(): void {
    const { clock } = this.#params;
    const now = clock.monotonic();
    this.#expire(now);
    const heardAt = this.#heardAt;
    const deadMs = this.#params.deadMs();
    if (this.#ping && now - this.#ping.at >= (deadMs * 3) / 4) {
      // This process may have been busy itself: what has arrived meanwhile is heard first.
      clock.immediate(() =>
        clock.immediate(() => {
          if (this.#over) return;
          if (this.#heardAt !== heardAt) return this.#watch();
          this.close(unavailable(`the server has not answered for ${Math.round(now - heardAt)} ms`));
        }),
      );
      return;
    }
    if (!this.#ping && now - heardAt >= (this.#busy ? deadMs / 5 : IDLE_PING_MS)) {
      this.#pings += 1;
      this.#ping = { at: now };
      this.#outbox.sendFirst(requestBytes({ control: { case: "ping", value: this.#pings } }));
    }
    this.#watch();
  }

  #expire(now: number): void {
    for (const call of [...this.#calls.values()]) {
      if (call.endsAt > now) continue;
      this.#calls.delete(call.id);
      call.withdraw();
      this.#parts.drop(call.id);
      if (call.sent) this.#dropped.add(call.id);
      else if (!this.#held.includes(call)) this.#done();
      call.reject(lostReply(call, unanswered()));
    }
  }
}

export function unavailable(why: string, cause?: unknown): HoldfastError {
  const data = { unreachable: true };
  return new HoldfastError("store_unavailable", `The server cannot be reached: ${why}.`, { cause, data });
}

/** The connection is there. */
function unanswered(): HoldfastError {
  return new HoldfastError("store_unavailable", "The server cannot be reached: the server has not answered in time.");
}

function lostReply({ method, sent }: Call, reason: HoldfastError | undefined): HoldfastError {
  const why = reason?.message ?? "The session ended.";
  const { unreachable = !sent } = reason?.data ?? {};
  const data = { call: method, ...(unreachable === true ? { unreachable } : {}) };
  if (!sent) return new HoldfastError("store_unavailable", `${why} The call was not sent.`, { data, cause: reason });
  if (STORE_CALL_TABLE.get(method)?.reads)
    return new HoldfastError("store_unavailable", `${why} The call was not answered.`, { data, cause: reason });
  const message = `${why} The call was sent and not answered: it may or may not have taken effect.`;
  return new HoldfastError("store_outcome_unknown", message, { data, cause: reason });
}
