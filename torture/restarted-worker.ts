// A worker in a separate process, as users write one, for restarts.test.ts. One that `hangs` must be killed.
import { writeSync } from "node:fs";
import process from "node:process";
import { connect, silentLogger, workflow } from "holdfast";

const [url = "", schema = "", mode = "", name = ""] = process.argv.slice(2);
const say = (text: string): void => void writeSync(1, `${text}\n`);

const parcel = workflow("parcel", async (ctx) =>
  ctx.step("deliver", () => {
    say("delivering");
    return mode === "hangs" ? new Promise<string>(() => {}) : "delivered";
  }),
);
const hf = await connect(url, { logger: silentLogger, ...(schema === "" ? {} : { schema }) });
await hf.worker({ workflows: [parcel], ...(name === "" ? {} : { name }) }).start();
say("started");
