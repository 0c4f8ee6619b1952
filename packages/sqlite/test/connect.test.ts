import { type Client, connect, silentLogger } from "holdfast";
import type { Clock, Timer } from "holdfast/adapter";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase } from "../src/database/driver.ts";
import { killChildren, runScript } from "./child-process.ts";
import { parcelWorkflow, shipped } from "./parcel-workflow.ts";
import { openFile, temporaryFolder } from "./sqlite-under-test.ts";

let folder: ReturnType<typeof temporaryFolder>;
const clients: Client[] = [];

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  killChildren();
  folder.remove();
});

async function open(scheme = "file"): Promise<Client> {
  const client = await connect(`${scheme}:${folder.file("app.db")}`, { logger: silentLogger });
  clients.push(client);
  return client;
}

test("a run survives a restart of its program and does no step twice", async () => {
  const done: string[] = [];
  let packed = (): void => {};
  const hasPacked = new Promise<void>((resolve) => {
    packed = resolve;
  });
  const parcel = parcelWorkflow({
    pack: () => {
      done.push("pack");
      packed();
      return "box 7";
    },
    deliver: (carrier) => {
      done.push(`deliver by ${carrier}`);
      return "receipt 9";
    },
  });

  const before = await open("file");
  const worker = before.worker({ workflows: [parcel] });
  await worker.start();
  await before.start(parcel, { to: "Ann" }, { id: "parcel-1" });
  await hasPacked;
  await worker.drain();
  await before.close();

  const after = await open("sqlite");
  await after.worker({ workflows: [parcel] }).start();
  const run = after.get("parcel-1");
  await run.signal(shipped, { carrier: "ship" });
  expect(await run.result()).toEqual({ to: "Ann", box: "box 7", receipt: "receipt 9" });
  expect(done).toEqual(["pack", "deliver by ship"]);
});

test("a file that another program keeps locked is logged, and finally an error", async () => {
  const file = folder.file("app.db");
  const other = await openDatabase(file);
  other.exec("begin exclusive");
  // This clock never waits: a timer fires as soon as it is set.
  let ms = 0;
  const setTimer = (delayMs: number, callback: () => void): Timer => {
    ms += delayMs;
    void Promise.resolve().then(callback);
    return { cancel() {} };
  };
  const clock: Clock = {
    now: () => ms,
    monotonic: () => ms,
    immediate: (callback) => void Promise.resolve().then(callback),
    setTimer,
  };
  const warnings: string[] = [];
  const log = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
  await expect(openFile(file, { clock, log })).rejects.toMatchObject({ code: "store_unavailable" });
  expect(warnings).toEqual([`${file} is locked by another program; waiting up to 10 s for it`]);
  other.exec("rollback");
  await (await openFile(file, { clock })).store.close();
  other.close();
});

test("a worker in another process hears of work at once; when it is killed, its run goes on here", async () => {
  const other = runScript("engine-process.ts", `file:${folder.file("app.db")}`);
  await other.wrote(1);
  const client = await open();
  const parcel = parcelWorkflow({ pack: () => "packed twice", deliver: (carrier) => `delivered by ${carrier}` });
  const run = await client.start(parcel, { to: "Bob" }, { id: "parcel-2" });
  await other.wrote(2);
  await run.signal(shipped, { carrier: "rail" });
  await other.wrote(3);
  expect(other.lines).toEqual(["ready", "packed", "delivering"]);
  await other.kill();
  await client.worker({ workflows: [parcel], lease: "1s" }).start();
  expect(await run.result({ timeout: "20s" })).toEqual({ to: "Bob", box: "packed", receipt: "delivered by rail" });
}, 60_000);

test("a batch whose process is killed is gone on with by a worker of another: each run gets one signal", async () => {
  const client = await open();
  const parcel = parcelWorkflow({ pack: () => "packed", deliver: (carrier) => `delivered by ${carrier}` });
  const parcels = Array.from({ length: 350 }, (_, i) => ({
    workflow: parcel,
    input: { to: `${i}` },
    options: { id: `p${i}` },
  }));
  await client.startMany(parcels);
  const caller = runScript("batch-process.ts", `file:${folder.file("app.db")}`);
  await caller.wrote(1);
  await caller.kill();
  expect(Number(caller.lines.at(-1))).toBeLessThan(350);
  await client.worker({ workflows: [parcel] }).start();
  const result = await client.batchRun("ship-all").result({ timeout: "40s" });
  expect(result).toEqual({ id: "ship-all", matched: 350, done: 350, skipped: [], skippedCount: 0 });
  for (const { options } of parcels) {
    expect(await client.get(parcel, options.id).result()).toMatchObject({ receipt: "delivered by rail" });
    const history = await client.get(options.id).history();
    expect(history.filter(({ type }) => type === "signal_received").length).toBe(1);
  }
}, 60_000);
