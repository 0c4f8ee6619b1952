// A worker in its own process, which fires schedules and executes their runs. It prints the times of the runs; the test kills it.
import { writeSync } from "node:fs";
import process from "node:process";
import { connect, silentLogger, workflow } from "holdfast";

const [url = ""] = process.argv.slice(2);
const say = (text: string): void => void writeSync(1, `${text}\n`);
const tick = workflow("tick", async (ctx) => ctx.step("say", () => say(String(ctx.info.scheduledAt?.toISOString()))));
const hf = await connect(url, { logger: silentLogger });
const worker = hf.worker({ workflows: [tick], lease: "1s", name: `worker-${process.pid}` });
await worker.start();
say("ready");
