/** StoreService: the store of this server, for Holdfast's own clients and workers. The port that listens mounts it. */
import type { Buffer } from "node:buffer";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CallRequestSchema,
  CallResponseSchema,
  COMMIT_ROWS,
  type Link,
  PollRequestSchema,
  PollResponseSchema,
  packBody,
  type StoreHello,
  StoreLimitsSchema,
  type StoreWelcome,
  StoreWelcomeSchema,
  toStoreError,
} from "@holdfast/protocol/store";
import {
  type Clock,
  type Hint,
  HoldfastError,
  type Logger,
  type Notifier,
  type OpenedStore,
  type Random,
  STORE_METHODS,
  type Store,
  type Timer,
} from "holdfast/adapter";
import { ANYBODY, type Caller } from "./caller.ts";
import { Calls } from "./calls.ts";
import { requireKnownVersion } from "./client-version.ts";
import { HintHub } from "./hint-hub.ts";
import { SessionInterest } from "./interest.ts";
import { ServerSession } from "./server-session.ts";
import { SERVICE_LIMITS, type ServiceLimits } from "./service-limits.ts";
import { VERSION } from "./version.ts";

export interface StoreServiceParams extends Pick<OpenedStore, "place" | "commitsInFlightMax"> {
  readonly store: Store;
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly limits?: Partial<ServiceLimits>;
}

/** What the transport tells the service of a session. */
export interface MountedSession {
  data(chunk: Buffer): void;
  drained(): void;
  closed(): void;
  /** Ends it at once: its token was revoked, for example. */
  close(): void;
}

const DRAIN_LOOK_MS = 20;

/** What this server has, besides calls. */
const FEATURES = ["parts", "interest", "go_away", "poll", COMMIT_ROWS];

export class StoreService {
  readonly #params: StoreServiceParams;
  readonly #limits: ServiceLimits;
  readonly #calls: Calls;
  readonly #hub: HintHub;
  readonly #sessions = new Map<ServerSession, Timer>();
  readonly #polls = new Set<() => void>();
  #draining = false;

  constructor(params: StoreServiceParams) {
    const { store, notifier, clock, log, commitsInFlightMax = 2 } = params;
    this.#params = params;
    this.#limits = { ...SERVICE_LIMITS, ...params.limits };
    const { payloadBytesMax } = this.#limits;
    this.#calls = new Calls({ store, clock, log, commitsInFlightMax, payloadBytesMax });
    this.#hub = new HintHub(notifier, clock);
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  /** A new session on a link. */
  session(link: Link, caller: Caller = ANYBODY): MountedSession {
    const { clock, random } = this.#params;
    const session = new ServerSession({
      link,
      clock,
      caller,
      calls: this.#calls,
      hub: this.#hub,
      limits: this.#limits,
      welcome: (hello) => this.#welcome(hello),
      onClosed: (one) => this.#closed(one),
    });
    const ageMs = this.#limits.sessionAgeMs * (0.8 + 0.4 * random.next());
    const timer = clock.setTimer(ageMs, () => session.goAway());
    timer.unref?.();
    this.#sessions.set(session, timer);
    if (this.#draining) session.goAway();
    return session;
  }

  /** The body of a unary request to `Call`; never rejects. */
  async call(request: Uint8Array, caller: Caller = ANYBODY): Promise<Uint8Array> {
    const { clock } = this.#params;
    try {
      const { method, body, deadlineMs } = readable(() => fromBinary(CallRequestSchema, request));
      const answer = await this.#calls.make({ method, body, endsAt: clock.monotonic() + deadlineMs, caller });
      return toBinary(CallResponseSchema, create(CallResponseSchema, { body: answer }));
    } catch (error) {
      return toBinary(CallResponseSchema, create(CallResponseSchema, { error: toStoreError(error) }));
    }
  }

  /** The body of a unary request to `Poll`; never rejects. Without an interest it is a greeting, answered at once. */
  async poll(request: Uint8Array, caller: Caller = ANYBODY): Promise<Uint8Array> {
    try {
      const { hello } = readable(() => fromBinary(PollRequestSchema, request));
      if (!hello) throw new HoldfastError("store_refused", "A poll begins with hello.");
      const welcome = this.#welcome(hello);
      const hints = hello.interest && !this.#draining ? await this.#waitForHints(hello, caller) : [];
      const body = hints.length === 0 ? {} : { hints: packBody(hints) };
      return toBinary(PollResponseSchema, create(PollResponseSchema, { welcome, ...body }));
    } catch (error) {
      return toBinary(PollResponseSchema, create(PollResponseSchema, { error: toStoreError(error) }));
    }
  }

  /**
   * Sends all sessions to other servers, and closes when they are gone. Whoever has no other server stays: its calls are answered, but
   * not for long.
   */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const answer of this.#polls) answer();
    for (const session of this.#sessions.keys()) session.goAway();
    await this.#left(this.#limits.leaveMs, () => false);
    await this.#left(this.#limits.drainMs, () => this.#idle);
    this.close();
  }

  get #idle(): boolean {
    for (const { unanswered } of this.#sessions.keys()) if (unanswered > 0) return false;
    return true;
  }

  /** Resolves when all sessions have ended, `enough` holds, or the time is up. */
  #left(limitMs: number, enough: () => boolean): Promise<void> {
    const { clock } = this.#params;
    const endsAt = clock.monotonic() + limitMs;
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.#sessions.size === 0 || enough() || clock.monotonic() >= endsAt) return resolve();
        clock.setTimer(Math.min(DRAIN_LOOK_MS, limitMs), look);
      };
      look();
    });
  }

  /** At once. Calls that the store has begun take effect all the same. */
  close(): void {
    this.#draining = true;
    for (const answer of this.#polls) answer();
    for (const session of [...this.#sessions.keys()]) session.close();
    this.#hub.close();
  }

  #closed(session: ServerSession): void {
    this.#sessions.get(session)?.cancel();
    this.#sessions.delete(session);
  }

  #welcome({ needs, version }: StoreHello): StoreWelcome {
    requireKnownVersion(version);
    const features = [...STORE_METHODS.filter((method) => method !== "transact"), ...FEATURES];
    const missing = needs.filter((need) => !features.includes(need));
    if (missing.length > 0)
      throw new HoldfastError(
        "store_unavailable",
        `This server is too old for the client: it does not know ${missing.slice(0, 10).join(", ")}. Update the server.`,
        { data: { missing: missing.slice(0, 10), version: VERSION } },
      );
    const { commitsInFlightMax, callsInFlightMax, partBytes, payloadBytesMax, callBytesMax } = this.#limits;
    const { store, place = "" } = this.#params;
    return create(StoreWelcomeSchema, {
      version: VERSION,
      features,
      place,
      capabilities: packBody(store.capabilities),
      limits: create(StoreLimitsSchema, {
        commitsInFlightMax,
        callsInFlightMax: callsInFlightMax - 4,
        partBytes,
        payloadBytesMax,
        callBytesMax,
      }),
    });
  }

  #waitForHints({ interest }: StoreHello, caller: Caller): Promise<readonly Hint[]> {
    const { clock } = this.#params;
    const wanted = new SessionInterest(caller);
    if (interest) wanted.change(interest);
    const hints: Hint[] = [];
    return new Promise((resolve) => {
      const answer = (): void => {
        timer.cancel();
        forget();
        this.#polls.delete(answer);
        resolve(hints);
      };
      const timer = clock.setTimer(this.#limits.pollMs, answer);
      timer.unref?.();
      const forget = this.#hub.add({
        wants: (hint) => wanted.wants(hint),
        hint: (hint) => {
          // What is hinted in the same turn goes along.
          if (hints.push(hint) === 1) clock.immediate(answer);
        },
      });
      this.#polls.add(answer);
    });
  }
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new HoldfastError("store_refused", "The request cannot be read.", { cause });
  }
}
