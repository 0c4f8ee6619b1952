import { signal, workflow } from "holdfast";
import { json, messagePack } from "holdfast/codecs";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const go = signal<object>("go");
const echo = workflow("echo", async (_ctx, text: string) => text);

test("re-encoding writes no more values each second than it was told", async () => {
  const fleet = openFleet();
  const plain = fleet.client({ codec: json() });
  await fleet.clock.until(
    plain.startMany(Array.from({ length: 30 }, (_, i) => ({ workflow: echo, input: { i } as never }))),
  );
  const client = fleet.client({ codec: messagePack() });
  const began = fleet.clock.monotonic();
  expect(await fleet.clock.until(client.reencode({ perSecond: 10 }))).toMatchObject({ rewritten: 30, left: 0 });
  expect(fleet.clock.monotonic() - began).toBeGreaterThanOrEqual(3_000);
  expect(fleet.clock.monotonic() - began).toBeLessThan(4_000);
});

test("re-encoding waits a little for what is in use, and then says how much is left", async () => {
  const fleet = openFleet();
  const plain = fleet.client({ codec: json() });
  const run = await fleet.clock.until(plain.start(echo, "a text"));
  await fleet.clock.until(plain.get(run.id).signal(go, { a: 1 }));
  // A worker holds the run, and has not consumed its message.
  const row = fleet.store.state.runs.get(run.runId);
  if (row) row.heldBy = "somebody";
  const client = fleet.client({ codec: messagePack() });
  expect(await fleet.clock.until(client.reencode())).toMatchObject({ rewritten: 1, left: 1, unreadable: 0 });
  if (row) row.heldBy = null;
  expect(await fleet.clock.until(client.reencode())).toMatchObject({ rewritten: 1, left: 0 });
});
