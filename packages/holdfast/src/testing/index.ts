export { MemoryNotifier } from "../memory/memory-notifier.ts";
export { MemoryStore, type StoreFault, type StoreMethod } from "../memory/memory-store.ts";
export { SeededSource } from "./seeded-source.ts";
export { type StepMock, type TestEngine, type TestEngineOptions, testEngine } from "./test-engine.ts";
export { VirtualClock } from "./virtual-clock.ts";
