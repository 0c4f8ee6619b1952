import { MemoryNotifier, MemoryStore } from "holdfast/testing";
import { SettableClock } from "./settable-clock.ts";
import type { StoreUnderTest } from "./store-under-test.ts";

/** What a transaction on the memory store is handed. */
interface MemoryTransaction {
  onCommit(callback: () => void): void;
}

/** The memory store, or a variant of it, on a clock that the suites set. */
export async function memoryUnderTest(Variant: typeof MemoryStore = MemoryStore): Promise<StoreUnderTest> {
  const clock = new SettableClock();
  const notifier = new MemoryNotifier(clock);
  const store = new Variant({ clock, notifier });
  const texts: string[] = [];
  return {
    store,
    notifier,
    application: {
      kind: "memory",
      write: (tx, text) => (tx as MemoryTransaction).onCommit(() => texts.push(text)),
      written: async () => texts,
    },
    async setClock(ms) {
      clock.ms = ms;
    },
    close: () => store.close(),
  };
}
