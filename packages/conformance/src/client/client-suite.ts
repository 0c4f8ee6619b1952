import type { ClientFixture } from "./client-fixture.ts";

/** A store that clients open by its URL; `close` removes its data after every client has closed. */
export interface StoreAddress {
  readonly url: string;
  close(): Promise<void>;
}

export type OpenUrl = () => Promise<StoreAddress>;

/** Behavior of clients: one sentence each, and the code that proves it on an empty store. */
export interface ClientSuite {
  readonly noun: string;
  readonly cases: Readonly<Record<string, (t: ClientFixture) => Promise<void>>>;
}
