// Five trucks, two ramps: ctx.withLock lets in two runs at a time, in the order in which they came.
//   npm start 18-lock
import { connect, silentLogger, workflow } from "holdfast";

const atRamp = new Set<string>();
let most = 0;

const unload = workflow("unload", async (ctx, truck: string) => {
  await ctx.withLock("ramp", { limit: 2 }, async (lock) => {
    await ctx.step("dock", () => {
      atRamp.add(truck);
      most = Math.max(most, atRamp.size);
      console.log(`${truck} docks, with fence ${lock.fence}`);
    });
    await ctx.sleep("unloading", "200ms");
    await ctx.step("leave", () => void atRamp.delete(truck));
  });
});

const hf = await connect("memory:", { logger: silentLogger });
await hf.worker({ workflows: [unload] }).start();
const runs = [];
for (const truck of ["red", "blue", "green", "white", "black"])
  runs.push(await hf.start(unload, truck, { id: `truck-${truck}` }));

// Who is inside, and who waits?
let lock = await hf.locks.list("ramp");
while (atRamp.size < 2 || lock.waiting.length < 3) lock = await hf.locks.list("ramp");
console.log("at the ramps:", lock.holders.map(({ id }) => id).join(", "));
console.log("in line:", lock.waiting.map(({ id }) => id).join(", "));

for (const run of runs) await run.result();
console.log(`never more than ${most} at the ramps`);
await hf.close();
