import { expect, test } from "vitest";
import { jsonCodec } from "../../codec/json-codec.ts";
import type { Task } from "../../model/task.ts";
import { silentLogger } from "../../ports/logger.ts";
import type { Store, TaskBeat } from "../../ports/store.ts";
import { SeededSource } from "../../testing/seeded-source.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { Beats } from "./beats.ts";
import { TaskAttempt } from "./task-attempt.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("details that wait when an attempt is over are sent before its end is reported, however much later", async () => {
  const clock = new VirtualClock();
  const sent: TaskBeat[] = [];
  const beat: Store["tasks"]["beat"] = async ({ beats: batch }) => {
    sent.push(...batch);
    return { outcomes: batch.map(() => ({ outcome: "heard", canceled: false })), now: 0 };
  };
  const store = { tasks: { beat } } as unknown as Store;
  const beats = new Beats({ clock, random: new SeededSource(1), store, stopped: () => false, onHeard: () => {} });
  const owner = { ended: () => {}, heard: () => Promise.resolve() };
  const attempt = new TaskAttempt({ spec: null } as Task, { clock, codec: jsonCodec, log: silentLogger }, owner);
  void beats.beat(attempt, bytes("1"));
  await clock.settle();
  void beats.beat(attempt, bytes("2"));
  attempt.end({ ok: false, error: new Error("too late") });
  // Its process takes a while to end.
  await clock.advance("5s");
  await clock.until(Promise.resolve(beats.flush(attempt)));
  expect(sent.map(({ details }) => details)).toEqual([bytes("1"), bytes("2")]);
});
