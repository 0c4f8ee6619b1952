import { chownSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canStartOwnServer, type OwnServer, startOwnServer } from "../../../../scripts/test-servers.mjs";
import { TestDatabase } from "../test-database.ts";

// skip: where only a URL is given there are no binaries to start a server from
describe.skipIf(!canStartOwnServer())("a server that is a standby", () => {
  let own: OwnServer;

  beforeAll(async () => {
    own = await startOwnServer({ hot_standby: "on" });
  });

  afterAll(() => own?.stop());

  test("is refused when the store is opened, with what to do", async () => {
    const database = await TestDatabase.create(own.url);
    await (await database.open()).store.close();
    await own.kill("SIGINT");
    const signal = path.join(own.data, "standby.signal");
    writeFileSync(signal, "");
    const { uid, gid } = statSync(own.data);
    chownSync(signal, uid, gid);
    await own.start();
    for (const migrate of ["auto", "check"] as const) {
      await expect(database.open({ migrate })).rejects.toMatchObject({
        code: "store_unavailable",
        message: expect.stringContaining("this is a standby, which takes no writes. Connect to the primary"),
      });
    }
  });
});
