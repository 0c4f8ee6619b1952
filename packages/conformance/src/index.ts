/** The suites that every store passes. Source only, for tests: see store-under-test.ts for what a store has to offer. */
export type { StoreAddress } from "./client/client-suite.ts";
export { clientConformance } from "./client-conformance.ts";
export { type DifferentialOptions, differential } from "./differential.ts";
export { memoryUnderTest } from "./memory-under-test.ts";
export { SettableClock } from "./settable-clock.ts";
export { storeConformance } from "./store-conformance.ts";
export type { ApplicationData, OpenStore, StoreUnderTest } from "./store-under-test.ts";
