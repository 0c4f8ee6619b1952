import { DatabaseError } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from "vitest";
import {
  canMountSmallDisk,
  canStartOwnServer,
  type OwnServer,
  startOwnServer,
} from "../../../../scripts/test-servers.mjs";
import { TestDatabase } from "../test-database.ts";
import { TestProxy } from "../test-proxy.ts";
import { FaultLoad } from "./fault-load.ts";

const DISK_FULL = "53100";

let load: FaultLoad;

/** The server's own error in place of its answer, to a call that never reached it. */
describe("a server that says that its disk is full", () => {
  let database: TestDatabase;
  let proxy: TestProxy;

  beforeAll(async () => {
    database = await TestDatabase.create();
  });

  afterAll(() => database.drop());

  beforeEach(async () => {
    proxy = await TestProxy.start();
    load = new FaultLoad(database);
  });

  afterEach(async () => {
    await load.close();
    await proxy.close();
    await database.empty();
  });

  test.each(["start_runs", "claim_runs", "commit_runs", "deliver_messages", "heartbeat_worker"])(
    "to %s delays it, and parks no run",
    async (call) => {
      const client = await load.worker(proxy.through(database.url()), { concurrency: 60 });
      const struck = Array.from({ length: 3 }, () => proxy.strike(call, "disk full"));
      const straight = await load.start(client, 60);
      const sleeping = await load.start(client, 30, "sleep");
      const waiting = await load.start(client, 30, "signal");
      await load.signal(waiting);
      if (call === "heartbeat_worker") load.stepTakes = () => Promise.all(struck);
      await load.expectDoneOnce([...straight, ...sleeping, ...waiting]);
      await Promise.all(struck);
      await load.expectNoTakeover();
    },
  );
});

// skip: only root can mount a disk that is really full, for a server of this test; the error itself is tested above
describe.skipIf(!canStartOwnServer() || !canMountSmallDisk())("a disk that is really full", () => {
  let own: OwnServer;
  let database: TestDatabase;

  beforeAll(async () => {
    own = await startOwnServer({}, { smallDiskMiB: 16 });
    database = await TestDatabase.create(own.url);
    await database.sql(`create tablespace small location '${own.smallDisk}'`);
    await database.sql("create table filler (bytes bytea) tablespace small");
    await database.sql("alter table filler alter bytes set storage external");
    load = new FaultLoad(database);
  });

  afterAll(() => own.stop());

  afterAll(async () => {
    await load.close();
    await database.drop();
  });

  /** Writes until nothing fits anymore, not even a page. */
  async function fillDisk(): Promise<void> {
    for (let bytes = 1_000_000; bytes >= 1_000; bytes /= 10) {
      const insert = `insert into filler values (decode(repeat('ab', ${bytes}), 'hex'))`;
      for (let full = false; !full; ) {
        await database.sql(insert).catch((error: unknown) => {
          full = true;
          if (!(error instanceof DatabaseError) || error.code !== DISK_FULL) throw error;
        });
      }
    }
  }

  test("delays what is to be written; when there is room again, nothing was lost or done twice", async () => {
    const client = await load.worker(database.url({ options: "-c default_tablespace=small" }));
    const goOn = load.pauseSteps();
    const begun = load.executions(200);
    const handles = await load.start(client, 200);
    await begun;
    await fillDisk();
    const failed = load.failures(5);
    goOn();
    await failed;
    await database.sql("drop table filler");
    await load.expectDoneOnce(handles);
    await load.expectNoTakeover();
  });
});
