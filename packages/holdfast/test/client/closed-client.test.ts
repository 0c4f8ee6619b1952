import { HoldfastError, signal, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const ping = signal<string>("ping");
const waiting = workflow("waiting", (ctx) => ctx.receive(ping));

/** Resolves to what the promise was rejected with. */
function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "not refused",
    (error: unknown) => error,
  );
}

test("calls that wait for a store that is away are refused when the client is closed, without time passing", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  const run = await fleet.clock.until(client.start(waiting));
  fleet.store.fault = (moment) => (moment === "before" ? new HoldfastError("store_unavailable", "away") : undefined);
  const calls = [
    client.start(waiting),
    client.list(),
    client.versions.list(),
    run.describe(),
    run.history(),
    run.signal(ping, "now"),
    run.cancel(),
    run.terminate(),
    run.result({ timeout: "1 day" }),
  ].map(refusal);
  // By now each has failed at least once and waits to be repeated.
  while ((fleet.store.calls["runs.terminate"] ?? 0) === 0 || (fleet.store.calls["inbox.deliver"] ?? 0) === 0)
    await new Promise((resolve) => fleet.clock.immediate(() => resolve(undefined)));
  const before = fleet.clock.now();
  await client.close();
  for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: "client_closed" });
  expect(fleet.clock.now()).toBe(before);
});

test("a worker that waits for the store to come back does not keep the client from closing", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  fleet.store.fault = (moment) => (moment === "before" ? new HoldfastError("store_unavailable", "away") : undefined);
  const worker = client.worker({ workflows: [waiting] });
  const started = refusal(worker.start());
  while ((fleet.store.calls["versions.register"] ?? 0) === 0)
    await new Promise((resolve) => fleet.clock.immediate(() => resolve(undefined)));
  const before = fleet.clock.now();
  await client.close();
  await started;
  expect(fleet.clock.now()).toBe(before);
  expect(await refusal(worker.start())).toMatchObject({ code: "client_closed" });
});

test("a result that is waited for is refused before the workers have stopped", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  let began = (): void => {};
  const hasBegun = new Promise<void>((resolve) => {
    began = resolve;
  });
  let finish = (): void => {};
  const stubborn = workflow("stubborn", (ctx) =>
    ctx.step("work", () => {
      began();
      return new Promise<void>((resolve) => {
        finish = resolve;
      });
    }),
  );
  await fleet.clock.until(client.worker({ workflows: [stubborn] }).start());
  const run = await fleet.clock.until(client.start(stubborn));
  const result = refusal(run.result());
  await fleet.clock.until(hasBegun);
  const closed = client.close();
  expect(await result).toMatchObject({ code: "client_closed" });
  finish();
  await fleet.clock.until(closed);
});
