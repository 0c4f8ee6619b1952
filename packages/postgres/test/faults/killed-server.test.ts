import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { canStartOwnServer, type OwnServer, startOwnServer } from "../../../../scripts/test-servers.mjs";
import { TestDatabase } from "../test-database.ts";
import { FaultLoad } from "./fault-load.ts";

// skip: without PostgreSQL's binaries (only HOLDFAST_TEST_POSTGRES_URL is given) there is no server that may be killed
describe.skipIf(!canStartOwnServer())("a server that is killed with SIGQUIT", () => {
  let own: OwnServer;
  let database: TestDatabase;
  let load: FaultLoad;

  beforeAll(async () => {
    own = await startOwnServer();
    database = await TestDatabase.create(own.url);
  });

  afterAll(() => own.stop());

  beforeEach(() => {
    load = new FaultLoad(database);
  });

  afterEach(async () => {
    await load.close();
    await database.empty();
  });

  /** Some workers, each with its own client. */
  function fleet(size: number, leaseMs: number) {
    const options = { lease: { milliseconds: leaseMs } };
    return Promise.all(Array.from({ length: size }, () => load.worker(database.url(), options)));
  }

  test("under load and started again, three times over: nothing is lost, and nothing is done twice", async () => {
    const clients = await fleet(2, 5_000);
    const started = clients.map(async (client) => {
      const straight = load.start(client, 100);
      const sleeping = load.start(client, 40, "sleep");
      const waiting = load.start(client, 40, "signal");
      return {
        signaled: load.signal(await waiting),
        handles: [...(await straight), ...(await sleeping), ...(await waiting)],
      };
    });
    for (let i = 0; i < 3; i++) {
      await load.executions(100);
      await own.kill();
      await own.start();
    }
    await database.reconnect();
    const groups = await Promise.all(started);
    await Promise.all(groups.map(({ signaled }) => signaled));
    await load.expectDoneOnce(groups.flatMap(({ handles }) => handles));
    await load.expectNoTakeover();
  });

  test("and stays away for longer than the lease: results wait in memory, and every worker keeps its runs", async () => {
    const leaseMs = 2_000;
    const clients = await fleet(3, leaseMs);
    const goOn = load.pauseSteps();
    const begun = load.executions(3 * 100);
    const handles = (await Promise.all(clients.map((client) => load.start(client, 100)))).flat();
    // At that time, every run is in the middle of a step.
    await begun;
    const workerIds = load.workers.map(({ workerId }) => workerId);
    await own.kill();
    goOn();
    // tidy-allow: an outage has to last; a lease expires only with time
    await new Promise((resolve) => setTimeout(resolve, 2.5 * leaseMs));
    await own.start();
    await database.reconnect();
    await load.expectDoneOnce(handles);
    await load.expectNoTakeover();
    expect(load.workers.map(({ workerId }) => workerId)).toEqual(workerIds);
  });
});
