/** Holdfast's server. */
export { ANYBODY, type Caller } from "./store-service/caller.ts";
export { type Duties, type DutiesParams, startDuties } from "./store-service/duties.ts";
export { serveSession } from "./store-service/http2-session.ts";
export { openStoreServer, type StoreServer, type StoreServerOptions } from "./store-service/store-server.ts";
export { StoreService, type StoreServiceParams } from "./store-service/store-service.ts";
