// Workers in another network: they know the address of a server, and nothing of the database.
//   npm start 23-remote-workers
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openStoreServer, startDuties } from "@holdfast/server";
import { openStore } from "@holdfast/sqlite";
import { connect, silentLogger, workflow } from "holdfast";
import { systemPorts } from "holdfast/adapter";

const folder = mkdtempSync(path.join(tmpdir(), "holdfast-example-"));

// Here is the database, and only the server opens it.
const opened = await openStore(`file:${path.join(folder, "app.db")}`, { ...systemPorts, log: silentLogger });
const duties = await startDuties({ opened, clock: systemPorts.clock, log: silentLogger });
let server = await openStoreServer(opened);
const { port, url } = server;

// Here is a worker, in another network.
let weighed = 0;
const parcel = workflow("parcel", async (ctx, kg: number) => {
  const weight = await ctx.step("weigh", () => {
    weighed += 1;
    return kg;
  });
  await ctx.sleep("wait for the van", "300ms");
  return ctx.step("load", () => `${weight} kg loaded`);
});
const there = await connect(url, { logger: silentLogger });
await there.worker({ workflows: [parcel] }).start();

// And here is somebody who wants something done.
const here = await connect(url, { logger: silentLogger });
const runs = await here.startMany([1, 2, 3].map((kg) => ({ workflow: parcel, input: kg })));
while (weighed < 3) await new Promise((resolve) => setTimeout(resolve, 5));
await server.close();
console.log("the server is gone; the parcels have been weighed");
server = await openStoreServer(opened, { port });
console.log("it is back:", (await Promise.all(runs.map((run) => run.result()))).join(", "));
console.log("weighed", weighed, "times");

await here.close();
await there.close();
await server.close();
await duties.stop();
await opened.store.close();
rmSync(folder, { recursive: true, force: true });
