/** The remote store over other links than HTTP/2: for tests and simulations. It may change in any version. */
export type { HintEnds, Line, OpenedLine, SessionLink } from "./connection.ts";
export { openStoreWith } from "./open-store.ts";
export { openRemote, type RemoteParams } from "./remote-store.ts";
