// Workers in another network: they know the address of a server, and nothing of the database.
//   npm start 23-remote-workers
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openServer } from "@holdfast/server";
import { connect, silentLogger, workflow } from "holdfast";

const folder = mkdtempSync(path.join(tmpdir(), "holdfast-example-"));

// Here is the database, and only the server opens it.
const store = `file:${path.join(folder, "app.db")}`;
let server = await openServer({ url: store, port: 0, logger: silentLogger });
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
server = await openServer({ url: store, port, logger: silentLogger });
console.log("it is back:", (await Promise.all(runs.map((run) => run.result()))).join(", "));
console.log("weighed", weighed, "times");

await here.close();
await there.close();
await server.close();
rmSync(folder, { recursive: true, force: true });
