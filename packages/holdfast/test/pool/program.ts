// A program with a pool of its own, which is killed: both of its processes are busy then, one of them without its event loop.
import { connect, silentLogger, workflow } from "holdfast";
import { EXEC_ARGV, MODULE } from "../lab/pool-module.ts";
import { block, deaf } from "./tasks.ts";

export { block, deaf, echo } from "./tasks.ts";

const busy = workflow("busy", async (ctx, says: string) => {
  await Promise.all([ctx.task(deaf, says), ctx.task(block, says, { timeout: "1 day" })]);
});

const hf = await connect("memory:", { logger: silentLogger });
await hf
  .worker({ workflows: [busy], tasks: [block, deaf], pool: { module: MODULE, execArgv: EXEC_ARGV, processes: 2 } })
  .start();
await hf.run(busy, process.argv[2] as string);
