/** Two movers of one store, each to another place: every run goes on in one of them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Client, connect, silentLogger, workflow } from "holdfast";
import { afterAll, expect, test } from "vitest";
import { Cluster, type Process, unavailable } from "../lab/harness.ts";
import { TwoStores } from "./two-stores.ts";

const IDS = ["a", "b"];

/** Two runs that nobody has begun, and a third store. */
class ThreeStores extends TwoStores {
  readonly third = new Cluster({ clock: this.from.clock });

  async begin(): Promise<this> {
    const { client } = this.from.process("server");
    for (const id of IDS) await client.start(this.effects.order, id, { id });
    return this;
  }

  moverToThird(): { readonly source: Process; readonly target: Process } {
    return { source: this.from.process("other"), target: this.third.process("other") };
  }

  /** In how many stores each run can be claimed. */
  places(): number[] {
    const open = [this.from, this.to, this.third].map(({ store }) =>
      [...store.state.runs.values()].filter(({ endedAt }) => endedAt === null).map(({ id }) => id),
    );
    return IDS.map((id) => open.filter((ids) => ids.includes(id)).length);
  }
}

/** One mover makes its calls, the other one does all of its work before call `n`. How many calls the first one has made. */
async function interleaved(n: number): Promise<number> {
  const stores = await new ThreeStores().begin();
  const other = stores.moverToThird();
  let made = 0;
  let moved: Promise<{ readonly runs: number }> | undefined;
  const { source, target } = stores.mover(async (_method, _params, next) => {
    made += 1;
    if (made === n) {
      moved = other.source.client.move({ to: other.target.client });
      await moved;
    }
    return next();
  });
  const first = await stores.until(source.client.move({ to: target.client }));
  expect([n, stores.places()]).toEqual([n, [1, 1]]);
  expect([n, first.runs + ((await moved)?.runs ?? 0)]).toEqual([n, 2]);
  expect(stores.from.store.state.departures.size).toBe(0);
  return made;
}

test("whichever call of one mover the other one comes before, each run is in one store", async () => {
  const calls = await interleaved(0);
  expect(calls).toBeGreaterThan(15);
  for (let n = 1; n <= calls; n++) await interleaved(n);
});

test("a mover that repeats a departure whose answer it lost is not answered with the departure of another one", async () => {
  const stores = await new ThreeStores().begin();
  const other = stores.moverToThird();
  let moved: Promise<unknown> | undefined;
  const { source, target } = stores.mover((method, _params, next) => {
    if (method !== "transfers.departIfIdle" || moved) return next();
    moved = other.source.client.move({ to: other.target.client });
    return moved.then(() => Promise.reject(unavailable()));
  });
  await stores.until(source.client.move({ to: target.client }));
  expect(stores.places()).toEqual([1, 1]);
});

test("what one mover has left on its way is not finished by a mover to another namespace of the same store", async () => {
  const stores = await new ThreeStores().begin();
  const targets: Client[] = [];
  for (const namespace of ["one", "two"])
    targets.push(await connect("memory:two-movers", { namespace, logger: silentLogger }));
  const [one, two] = targets as [Client, Client];
  const mover: Process = stores.from.process("mover", async (method, _params, next) => {
    const answer = await next();
    if (method !== "transfers.departIfIdle") return answer;
    mover.kill();
    return new Promise(() => {});
  });
  const filter = { id: "a" };
  void mover.client.move({ to: one, filter }).catch(() => {});
  await stores.from.when(() => mover.life.dead);
  const { client } = stores.from.process("again");
  const skipped = [{ id: "a", code: "moving_elsewhere" }];
  expect(await stores.until(client.move({ to: two, filter }))).toMatchObject({ runs: 0, skipped });
  expect([await openRuns(one), await openRuns(two)]).toEqual([[], []]);
  expect(await stores.until(client.move({ to: one, filter }))).toMatchObject({ runs: 1, skipped: [] });
  expect([await openRuns(one), await openRuns(two)]).toEqual([["a"], []]);
  for (const target of targets) await target.close();
});

test("a mover that knows of a departure, and stands still until the run has come back, does not take it along as it was", async () => {
  const stores = await new ThreeStores().begin();
  const dying: Process = stores.from.process("dying", async (method, _params, next) => {
    const answer = await next();
    if (method !== "transfers.departIfIdle") return answer;
    dying.kill();
    return new Promise(() => {});
  });
  void dying.client.move({ to: stores.to.process("dying").client, filter: { id: "a" } }).catch(() => {});
  await stores.from.when(() => dying.life.dead);
  let goOn: (() => void) | undefined;
  const { source, target } = stores.mover(async (method, _params, next) => {
    const answer = await next();
    if (method === "transfers.departures" && !goOn) await new Promise<void>((resolve) => (goOn = resolve));
    return answer;
  });
  const moved = source.client.move({ to: target.client });
  await stores.from.when(() => goOn !== undefined);
  // Meanwhile it arrives, comes back, and is taken on by a worker.
  const others = stores.mover();
  const filter = { id: "a" };
  await stores.until(others.source.client.move({ to: others.target.client, filter }));
  await stores.until(others.target.client.move({ to: others.source.client, filter }));
  const worker = await stores.from.process("worker").worker({ workflows: [stores.effects.order] });
  await stores.from.clock.settle();
  await worker.stop();
  expect(stores.places()).toEqual([1, 1]);
  goOn?.();
  await stores.until(moved);
  expect(stores.places()).toEqual([1, 1]);
});

const folder = mkdtempSync(path.join(tmpdir(), "two-movers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RUNS = 12;
const kept = workflow("kept", async () => 1);
const URLS = {
  memory: (_name: string) => "memory:",
  SQLite: (name: string) => `file:${path.join(folder, `${name}.db`)}`,
};

async function openRuns(client: Client): Promise<string[]> {
  return (await client.list({ status: "pending" })).runs.map(({ id }) => id);
}

test.each(Object.entries(URLS))(
  "two moves at once to two stores of %s take each run to one of them",
  async (_, url) => {
    const clients = [];
    for (const name of ["from", "one", "two"]) clients.push(await connect(url(name), { logger: silentLogger }));
    const [from, one, two] = clients as [Client, Client, Client];
    const ids = Array.from({ length: RUNS }, (_run, i) => `r${i}`);
    for (const id of ids) await from.start(kept, undefined, { id });
    const [first, second] = await Promise.all([from.move({ to: one }), from.move({ to: two })]);
    expect([...(await openRuns(one)), ...(await openRuns(two))].sort()).toEqual(ids.sort());
    expect(first.runs + second.runs + new Set([...first.skipped, ...second.skipped].map(({ id }) => id)).size).toBe(
      RUNS,
    );
    expect(await openRuns(from)).toEqual([]);
    for (const client of clients) await client.close();
  },
);
