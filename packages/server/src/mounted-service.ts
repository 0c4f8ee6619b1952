/** The seam for services that are not this package's own: the store for remote workers is one. */
import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import type { Clock, Logger, OpenedStore, Random, Store } from "holdfast/adapter";
import type { Permissions } from "./access/permissions.ts";
import type { Principal } from "./access/principal.ts";

/** What the server offers to a service. */
export interface ServiceHost {
  readonly opened: OpenedStore;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Aborted when the server drains. */
  readonly draining: AbortSignal;
  /** Who calls; throws `unauthenticated`. */
  principalOf(context: Pick<HandlerContext, "requestHeader" | "values">): Promise<Principal>;
  /** Throws `namespace_disabled`. */
  requireEnabled(namespace: string): Promise<void>;
}

export interface RunningService {
  readonly service: DescService;
  /** Adds it to the router of the port. */
  route(router: ConnectRouter): void;
  /** When calls have had their time. */
  close?(): Promise<void>;
}

export interface MountedService {
  /** A row for each of its calls. */
  readonly permissions: Permissions;
  /** For `GetServerInfo`. */
  readonly features?: readonly string[];
  mount(host: ServiceHost): RunningService;
}
