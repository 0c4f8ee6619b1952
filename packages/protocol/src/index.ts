/** The messages between servers, clients and workers. */
export * from "./store.ts";
