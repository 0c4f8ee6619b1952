import { expect, test } from "vitest";
import { jsonCodec } from "../../codec/json-codec.ts";
import { MemoryNotifier } from "../../memory/notifier.ts";
import { MemoryStore } from "../../memory/store.ts";
import type { HistoryEvent } from "../../model/event.ts";
import { storeAround } from "../../ports/store-calls.ts";
import { SeededSource } from "../../testing/seeded-source.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import type { PortsBundle } from "../ports-bundle.ts";
import { SegmentPacker } from "./segment-packer.ts";

const LOG: PortsBundle["log"] = { debug() {}, info() {}, warn() {}, error() {} };

function events(count: number): HistoryEvent[] {
  return Array.from(
    { length: count },
    (_, i): HistoryEvent => ({ seq: i + 1, at: 0, type: "signal_received", op: `m#${i}` }),
  );
}

test("a history that is read again while it waits to be packed is packed as it was read last", async () => {
  const clock = new VirtualClock();
  const offered: number[] = [];
  const store = storeAround(
    new MemoryStore({ clock, notifier: new MemoryNotifier(clock) }),
    async (method, params, next) => {
      if (method !== "segments.addIfCurrent") return next();
      offered.push((params as { readonly segments: readonly unknown[] }).segments.length);
      return { added: false };
    },
  );
  const packer = new SegmentPacker({
    clock,
    store: { ...store, capabilities: { ...store.capabilities, segments: true } },
    random: new SeededSource(1),
    codec: jsonCodec,
    log: LOG,
    notifier: new MemoryNotifier(clock),
    eventsPerSegment: 10,
  });
  const offer = (runId: string, count: number): void =>
    packer.offer(
      { namespace: "default", runId, eventCount: count },
      { events: events(count), packed: 0, edition: 0, damaged: false },
    );
  offer("first", 25);
  for (let count = 35; count <= 85; count += 10) offer("again", count);
  await clock.advance("10s");
  expect(offered).toEqual([2, 8]);
  packer.close();
});
