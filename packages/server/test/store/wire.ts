/** A network in memory between clients and a server: in order, in later turns, and cut wherever a test wants. */
import { Buffer } from "node:buffer";
import {
  type LinkEvents,
  MessageReader,
  readRequest,
  readResponse,
  type SessionRequest,
  type SessionResponse,
} from "@holdfast/protocol/store";
import { openRemote, type RemoteParams, type SessionLink } from "@holdfast/remote/links";
import { type Clock, type OpenedStore, systemPorts } from "holdfast/adapter";
import type { Caller } from "../../src/store-service/caller.ts";
import type { ServiceLimits } from "../../src/store-service/service-limits.ts";
import { type MountedSession, StoreService } from "../../src/store-service/store-service.ts";
import { SERVER, silent } from "./remote-under-test.ts";

/** What happens to a message: it arrives, or the stream is cut just before it does. */
export type Fate = "arrives" | "cut";

export interface WireFaults {
  request?(request: SessionRequest): Fate;
  response?(response: SessionResponse): Fate;
}

interface End {
  receive(chunk: Buffer): void;
  closed(error?: Error): void;
}

const WHOLE = 1 << 30;

export class Wire {
  readonly service: StoreService;
  readonly #clock: Clock;
  readonly #caller: Caller;
  faults: WireFaults = {};
  /** Nothing arrives at all, and nobody is told. */
  silent = false;
  /** New sessions are refused. */
  down = false;
  opened = 0;
  readonly requests: SessionRequest[] = [];
  readonly responses: SessionResponse[] = [];
  readonly #cuts = new Set<(error: Error) => void>();

  constructor(
    behind: OpenedStore,
    options: { readonly clock?: Clock; readonly caller?: Caller; readonly limits?: Partial<ServiceLimits> } = {},
  ) {
    this.#clock = options.clock ?? systemPorts.clock;
    this.#caller = options.caller ?? SERVER;
    this.service = new StoreService({
      ...behind,
      clock: this.#clock,
      random: { next: () => 0.5, bytes: systemPorts.random.bytes } as typeof systemPorts.random,
      log: silent,
      limits: options.limits ?? {},
    });
  }

  /** A client at the other end. */
  connect(more: Partial<RemoteParams> = {}): Promise<OpenedStore> {
    const random = { ...systemPorts.random, next: () => 0 };
    return openRemote({ clock: this.#clock, random, log: silent, where: "memory", openLink: this.openLink, ...more });
  }

  /** Cuts every stream. */
  cut(): void {
    for (const cut of [...this.#cuts]) cut(new Error("the stream was cut"));
  }

  readonly openLink = async (events: LinkEvents): Promise<SessionLink> => {
    if (this.down) throw new Error("connection refused");
    this.opened += 1;
    let over = false;
    let session: MountedSession | undefined;
    const toServer = new MessageReader(WHOLE);
    const toClient = new MessageReader(WHOLE);
    const finish = (error?: Error): void => {
      if (over) return;
      over = true;
      this.#cuts.delete(finish);
      this.#clock.immediate(() => {
        session?.closed();
        events.closed(error);
      });
    };
    this.#cuts.add(finish);
    const carry = (chunk: Buffer, end: End, judge: (bytes: Buffer) => Fate | undefined): boolean => {
      const copy = Buffer.from(chunk);
      this.#clock.immediate(() => {
        if (over || this.silent) return;
        if (judge(copy) === "cut") return finish(new Error("the stream was cut"));
        end.receive(copy);
      });
      return !over;
    };
    const judgeRequests = (bytes: Buffer): Fate | undefined => {
      for (const message of toServer.read(bytes)) {
        const request = readRequest(message);
        this.requests.push(request);
        if (this.faults.request?.(request) === "cut") return "cut";
      }
      return undefined;
    };
    const judgeResponses = (bytes: Buffer): Fate | undefined => {
      for (const message of toClient.read(bytes)) {
        const response = readResponse(message);
        this.responses.push(response);
        if (this.faults.response?.(response) === "cut") return "cut";
      }
      return undefined;
    };
    const client: End = { receive: (chunk) => events.data(chunk), closed: (error) => events.closed(error) };
    session = this.service.session(
      {
        write: (chunk) => carry(chunk, client, judgeResponses),
        pause: () => {},
        resume: () => {},
        end: () => this.#clock.immediate(() => finish()),
        destroy: () => finish(),
      },
      this.#caller,
    );
    const server: End = { receive: (chunk) => session?.data(chunk), closed: () => session?.closed() };
    return {
      write: (chunk) => carry(chunk, server, judgeRequests),
      pause: () => {},
      resume: () => {},
      end: () => this.#clock.immediate(() => finish()),
      destroy: () => {
        over = true;
        this.#cuts.delete(finish);
        this.#clock.immediate(() => session?.closed());
      },
    };
  };
}
