/** The suites that every store passes. Source only, for tests: store-under-test.ts says what a store must provide. */
export { ACCESS_CASES, type AccessUnderTest, accessConformance, runAccessCase } from "./access-conformance.ts";
export type { StoreAddress } from "./client/client-suite.ts";
export { beginRuns, FINISHED, finishRuns } from "./client/open-runs.ts";
export { IN_PLAIN_SIGHT, liveInSecret, SECRET } from "./client/secret-life.ts";
export { clientConformance } from "./client-conformance.ts";
export { type DifferentialOptions, differential } from "./differential.ts";
export { aStart, REPLACED, SWEEP } from "./fixture.ts";
export { memoryUnderTest } from "./memory-under-test.ts";
export { type RelayIds, relay } from "./relay.ts";
export { newRun } from "./sample-data.ts";
export { DEFINITION, STATE } from "./sample-schedules.ts";
export { SettableClock } from "./settable-clock.ts";
export { storeConformance } from "./store-conformance.ts";
export type { ApplicationData, OpenStore, StoreUnderTest } from "./store-under-test.ts";
