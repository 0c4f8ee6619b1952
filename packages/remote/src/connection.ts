/**
 * The connection to a server, whatever becomes of single sessions. A session that is lost is opened again, after a random delay; calls
 * that are made meanwhile wait for the next attempt, and for no other. A server that wants to go is left only when there is
 * a new session. A server that does not accept the token is asked again, but rarely, because the token may be a new one then; meanwhile
 * every call fails at once.
 */
import { create } from "@bufbuild/protobuf";
import {
  COMMIT_ROWS,
  callTooLarge,
  commitRows,
  type LinkEvents,
  largestPayload,
  packBody,
  payloadTooLarge,
  StoreHelloSchema,
  type StoreInterest,
  type StoreLimits,
  type StoreWelcome,
  unpackBody,
} from "@holdfast/protocol/store";
import {
  type Clock,
  type CommitRunsParams,
  type Hint,
  HoldfastError,
  isHoldfastError,
  type Logger,
  type Random,
  type StoreMethod,
  type Timer,
} from "holdfast/adapter";
import { Session, unavailable } from "./session.ts";
import {
  CALL_BYTES_MAX,
  CALL_LIMIT_MS,
  OPEN_LIMIT_MS,
  PAYLOAD_BYTES_MAX,
  RECONNECT_MS_FIRST,
  RECONNECT_MS_MAX,
} from "./session-limits.ts";
import { VERSION } from "./version.ts";

/** How often it is tried whether sessions are possible after all. */
const SESSION_LOOK_MS = 60_000;

/** How long until a server that has refused the token is asked again. */
const REFUSED_MS = 10_000;
/** A call that is made anew needs at least this long. */
const MARGIN_MS = 1_000;

/** A link, and whether it keeps the process alive. */
export type SessionLink = ConstructorParameters<typeof Session>[0]["link"] & { ref?(): void; unref?(): void };

/** How the calls travel: over sessions, or one by one where there is no HTTP/2. */
export interface Line {
  call(method: StoreMethod, body: Uint8Array, limitMs: number): Promise<Uint8Array>;
  interest(interest: StoreInterest): void;
  /** Nobody makes calls any more. */
  leave(): void;
}

export interface OpenedLine {
  readonly line: Line;
  readonly welcome: StoreWelcome;
}

/** `rows`: its commits are columns, which not every server can read. */
interface PackedCall {
  readonly rows: boolean;
  readonly bytes: Uint8Array;
}

/** Which hints are wanted, and where they go. */
export interface HintEnds {
  readonly interest: () => StoreInterest;
  readonly onHints: (hints: readonly Hint[]) => void;
  readonly onHintsLost: () => void;
}

export interface ConnectionParams extends HintEnds {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Where it leads, for people. */
  readonly where: string;
  readonly openLink: (events: LinkEvents) => Promise<SessionLink>;
  readonly deadMs: () => number;
  /** The other way, for when no session can be opened because of what lies between; undefined if there is none, or it fails as well. */
  readonly openUnary?: (error: unknown, hints: HintEnds) => Promise<OpenedLine | undefined>;
  /** The calls that this client cannot do without. */
  readonly needs: readonly string[];
}

interface Attempt {
  readonly line: Promise<Line>;
  resolve(line: Line): void;
  reject(error: unknown): void;
}

export class Connection {
  readonly #params: ConnectionParams;
  #line: Line | undefined;
  #link: SessionLink | undefined;
  #sessions = new Set<Session>();
  #attempt: Attempt | undefined;
  #failures = 0;
  #timer: Timer | undefined;
  #closed = false;
  #everOpen = false;
  #opening = false;
  #unanswered = 0;
  /** The server does not accept this client. */
  #refusal: HoldfastError | undefined;
  #limits: StoreLimits | undefined;
  #takesRows = false;

  constructor(params: ConnectionParams) {
    this.#params = params;
  }

  /** The first session. Rejects if it cannot be opened. */
  async open(): Promise<StoreWelcome> {
    return this.#open();
  }

  async call(method: StoreMethod, params: unknown): Promise<unknown> {
    if (this.#closed) throw new HoldfastError("client_closed", "The connection to the server was closed.");
    const body = this.#pack(method, params);
    this.#check(body.bytes, params);
    this.#unanswered += 1;
    if (this.#unanswered === 1) this.#link?.ref?.();
    try {
      return unpackBody(await this.#patiently((limitMs) => this.#send(method, params, body, limitMs)));
    } finally {
      this.#unanswered -= 1;
      if (this.#unanswered === 0) this.#link?.unref?.();
    }
  }

  async #send(method: StoreMethod, params: unknown, body: PackedCall, limitMs: number): Promise<Uint8Array> {
    const line = this.#line ?? (await this.#waitForLine());
    // The server at the other end may be another one by now, of another version.
    const { bytes } = body.rows && !this.#takesRows ? this.#pack(method, params) : body;
    return line.call(method, bytes, limitMs);
  }

  #pack(method: StoreMethod, params: unknown): PackedCall {
    const rows = this.#takesRows && method === "runs.commit";
    return { rows, bytes: packBody(rows ? commitRows(params as CommitRunsParams) : params) };
  }

  /** A call that is one too many has had no effect, and is made when the server says: that slows the caller down. */
  async #patiently(send: (limitMs: number) => Promise<Uint8Array>): Promise<Uint8Array> {
    const { clock } = this.#params;
    const endsAt = clock.monotonic() + CALL_LIMIT_MS;
    for (;;) {
      const limitMs = Math.max(1, Math.ceil(endsAt - clock.monotonic()));
      try {
        return await send(limitMs);
      } catch (error) {
        const afterMs = isHoldfastError(error, "rate_limited") ? error.data["retryAfterMs"] : undefined;
        if (typeof afterMs !== "number" || this.#closed || afterMs + MARGIN_MS > endsAt - clock.monotonic())
          throw error;
        await new Promise<void>((resolve) => void clock.setTimer(afterMs, resolve));
      }
    }
  }

  interest(change: StoreInterest): void {
    this.#line?.interest(change);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#attempt?.reject(unavailable("the client was closed"));
    for (const session of this.#sessions) session.close(unavailable("the client was closed"));
    this.#line?.leave();
    this.#line = undefined;
  }

  /** Refused here, before any of it is sent. */
  #check(body: Uint8Array, params: unknown): void {
    const callMax = this.#limits?.callBytesMax || CALL_BYTES_MAX;
    const payloadMax = this.#limits?.payloadBytesMax || PAYLOAD_BYTES_MAX;
    if (body.length > payloadMax) {
      const largest = largestPayload(params);
      if (largest > payloadMax) throw payloadTooLarge(largest, payloadMax);
    }
    if (body.length > callMax) throw callTooLarge(body.length, callMax);
  }

  #waitForLine(): Promise<Line> {
    if (this.#refusal) return Promise.reject(this.#refusal);
    if (!this.#attempt) {
      let resolve: Attempt["resolve"] = () => {};
      let reject: Attempt["reject"] = () => {};
      const line = new Promise<Line>((done, failed) => {
        resolve = done;
        reject = failed;
      });
      line.catch(() => {});
      this.#attempt = { line, resolve, reject };
    }
    // A call keeps the process alive, and so must the attempt that it waits for.
    this.#timer?.ref?.();
    return this.#attempt.line;
  }

  #settle(settle: (attempt: Attempt) => void): void {
    const attempt = this.#attempt;
    this.#attempt = undefined;
    if (attempt) settle(attempt);
  }

  /** One at a time. */
  async #open(): Promise<StoreWelcome> {
    this.#opening = true;
    try {
      const { line, welcome } = await this.#openLine();
      if (this.#closed) throw unavailable("the client was closed");
      this.#opening = false;
      this.#failures = 0;
      this.#refusal = undefined;
      this.#use(line, welcome);
      this.#settle((attempt) => attempt.resolve(line));
      if (this.#everOpen) this.#params.onHintsLost();
      this.#everOpen = true;
      return welcome;
    } catch (error) {
      this.#opening = false;
      const reason = isHoldfastError(error) ? error : unavailable(messageOf(error), error);
      this.#refusal = isAccessRefusal(reason) ? reason : undefined;
      this.#settle((attempt) => attempt.reject(reason));
      if (this.#everOpen) this.#openLater(reason);
      throw reason;
    }
  }

  async #openLine(): Promise<OpenedLine> {
    try {
      return await this.#openSession();
    } catch (error) {
      const unary = await this.#params.openUnary?.(error, this.#params);
      if (!unary) throw error;
      this.#lookForSession(unary.line);
      return unary;
    }
  }

  /** What was in the way may be gone. */
  #lookForSession(unary: Line): void {
    this.#timer = this.#params.clock.setTimer(SESSION_LOOK_MS, () => {
      if (this.#closed || this.#line !== unary) return;
      this.#openSession().then(
        ({ line, welcome }) => {
          this.#use(line, welcome);
          unary.leave();
        },
        () => this.#lookForSession(unary),
      );
    });
    this.#timer.unref?.();
  }

  async #openSession(): Promise<OpenedLine> {
    const { clock, openLink, deadMs, needs, onHints, onHintsLost } = this.#params;
    let session: Session | undefined;
    let early: Error | true | undefined;
    const link = await openLink({
      data: (chunk) => session?.data(chunk),
      drained: () => session?.drained(),
      closed: (error) => {
        if (session) session.closed(error);
        else early = error ?? true;
      },
    });
    if (early) throw early === true ? unavailable("the server ended the session") : early;
    const hello = create(StoreHelloSchema, { version: VERSION, needs: [...needs] });
    const opened = new Session({
      clock,
      link,
      hello,
      deadMs,
      events: {
        hints: onHints,
        hintsLost: onHintsLost,
        goAway: () => this.#replace(opened),
        closed: (_, error) => this.#lost(opened, error),
      },
    });
    session = opened;
    this.#sessions.add(opened);
    const limit = clock.setTimer(OPEN_LIMIT_MS, () => opened.close(unavailable("the server does not answer")));
    try {
      const welcome = await opened.welcome;
      this.#link = link;
      if (this.#unanswered === 0) link.unref?.();
      return { line: opened, welcome };
    } finally {
      limit.cancel();
    }
  }

  /** Told of all interest in the same turn: what changes from here on is told to this line, and nothing falls in between. */
  #use(line: Line, { limits, features }: StoreWelcome): void {
    this.#line = line;
    this.#limits = limits;
    this.#takesRows = features.includes(COMMIT_ROWS);
    line.interest(this.#params.interest());
  }

  #lost(session: Session, error: HoldfastError | undefined): void {
    this.#sessions.delete(session);
    if (this.#line !== session) return;
    this.#line = undefined;
    this.#openLater(error);
  }

  /** The server wants to go: others take over, and it answers what it has. */
  #replace(session: Session): void {
    if (this.#line !== session || this.#closed) return;
    const { clock, random } = this.#params;
    // A fleet that is sent away at once does not come back at once.
    const timer = clock.setTimer(random.next() * RECONNECT_MS_FIRST, () => {
      if (this.#line !== session || this.#closed || this.#opening) return;
      this.#open().then(
        () => session.leave(),
        // The old one is as good as none from here on, unless it still answers.
        () => {},
      );
    });
    timer.unref?.();
  }

  #openLater(error: HoldfastError | undefined): void {
    if (this.#closed || this.#line || this.#opening) return;
    const { clock, random, log, where } = this.#params;
    const upTo = Math.min(RECONNECT_MS_MAX, RECONNECT_MS_FIRST * 2 ** Math.min(this.#failures, 10));
    const delayMs = this.#refusal ? REFUSED_MS * (0.5 + random.next()) : random.next() * upTo;
    if (this.#failures === 0)
      log.warn({ where, reason: error?.message }, "lost the connection to the server; it is opened again");
    this.#failures += 1;
    this.#timer?.cancel();
    this.#timer = clock.setTimer(delayMs, () => void this.#open().catch(() => {}));
    if (!this.#attempt) this.#timer.unref?.();
  }
}

/** What does not pass by itself: somebody has to give this client another token. */
export function isAccessRefusal(error: unknown): error is HoldfastError {
  return isHoldfastError(error, "unauthenticated") || isHoldfastError(error, "permission_denied");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
