// One of the three parties in a process of its own, with the packages of another build: see other-build.ts.
import { writeSync } from "node:fs";
import process from "node:process";
import { openServer } from "@holdfast/server";
import { connect, silentLogger } from "holdfast";
import { converse, work } from "./conversation.ts";

const [party, url = ""] = process.argv.slice(2);
const say = (value: unknown): void => void writeSync(1, `${JSON.stringify(value)}\n`);
// Whoever has started this process is gone.
process.stdin.on("end", () => process.exit()).resume();
if (party === "server") say((await openServer({ url: "memory:", port: 0, logger: silentLogger })).url);
else {
  const hf = await connect(url, { logger: silentLogger });
  if (party === "client") say(await converse(hf));
  else {
    await work(hf);
    say("ready");
  }
}
