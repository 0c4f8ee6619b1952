// An application that has outgrown its file: the runs that have not ended move to another store, and go on there. Finished ones are
// archived, and can be read anywhere.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect, signal, silentLogger, workflow } from "holdfast";

const approve = signal<{ by: string }>("approve");

const order = workflow("order", async (ctx, item: string) => {
  await ctx.step("charge", () => console.log(`  charge for the ${item}`));
  const { by } = await ctx.receive(approve);
  await ctx.step("ship", () => console.log(`  ship the ${item}`));
  return `${item}, approved by ${by}`;
});

const folder = mkdtempSync(path.join(tmpdir(), "holdfast-move-"));
const small = await connect(`file:${path.join(folder, "small.db")}`, { logger: silentLogger });
const large = await connect(`file:${path.join(folder, "large.db")}`, { logger: silentLogger });

console.log("In the small store:");
const worker = small.worker({ workflows: [order] });
await worker.start();
for (const item of ["lamp", "chair"]) {
  await small.start(order, item, { id: item });
  while ((await small.get(item).status()) !== "waiting");
}
await small.get("chair").signal(approve, { by: "ana" });
console.log(`  ${await small.get(order, "chair").result()}`);
await worker.stop();

const { runs } = await small.move({ to: large, by: "ana", reason: "the file is too small" });
console.log(`Moved ${runs} run. Here it is ${await small.get("lamp").status()}:`);
await small
  .get("lamp")
  .signal(approve, { by: "ben" })
  .catch((error) => console.log(`  ${error.code}`));

console.log("In the large store:");
await large.worker({ workflows: [order] }).start();
await large.get("lamp").signal(approve, { by: "ben" });
console.log(`  ${await large.get(order, "lamp").result()}`);

const archive = path.join(folder, "archive.jsonl");
console.log(`Archived ${(await small.export({ to: archive })).runs} run of the small store.`);
console.log(`Imported ${(await large.import({ from: archive })).runs}: ${await large.get(order, "chair").result()}.`);
await Promise.all([small.close(), large.close()]);
rmSync(folder, { recursive: true });
