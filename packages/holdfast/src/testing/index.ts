/**
 * For tests of workflows (the test engine, replay, crashes), and of code that implements or uses the ports (the fakes).
 */
export { MemoryAccessStore } from "../memory/access.ts";
export { MemoryNotifier } from "../memory/notifier.ts";
export { MemoryStore, type MemoryStoreOptions, type StoreFault } from "../memory/store.ts";
export type { StoreMethod } from "../ports/store-calls.ts";
export { type CrashEverywhereOptions, type CrashReport, crashEverywhere, type WorldModel } from "./crash-everywhere.ts";
export { type RecordedHistory, type ReplayOutcome, replay } from "./replay.ts";
export { SeededSource } from "./seeded-source.ts";
export { type StepMock, type TaskMock, type TestEngine, type TestEngineOptions, testEngine } from "./test-engine.ts";
export { VirtualClock } from "./virtual-clock.ts";
