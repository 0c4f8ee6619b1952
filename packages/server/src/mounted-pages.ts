/** The seam for the dashboard: a package of its own, which this one does not know. */
import type { AccessStore, Client, Clock, Random } from "holdfast/adapter";
import type { NodeHandler } from "./port/listener.ts";

/** What a key or another credential allows. */
export interface PageGrant {
  readonly id: string;
  readonly grants: readonly { readonly role: "reader" | "writer" | "worker" | "admin"; readonly namespace: string }[];
}

/** What the server offers to its pages. */
export interface PagesHost {
  /** A client on the store of the server. It is closed by the server. */
  readonly client: Client;
  readonly access: AccessStore | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** Who gets in: everybody on this machine, everybody who reaches the server, or those who log in. */
  readonly door: "local" | "everybody" | "login";
  /** Whether an API key opens a session. */
  readonly keys: boolean;
  /** Who sends a request; throws `unauthenticated`, or `rate_limited` after too many attempts from that address. */
  principalOf(credentials: { readonly authorization: string | null; readonly address: string }): Promise<PageGrant>;
  /** Aborted when the server drains: streams are to end. */
  readonly draining: AbortSignal;
}

export interface MountedPages {
  readonly handler: NodeHandler;
  close(): Promise<void>;
}

export type MountPages = (host: PagesHost) => MountedPages;
