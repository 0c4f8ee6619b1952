// A worker in its own process. It prints what its steps do, and never finishes the last one: the test has to kill it.
import { writeSync } from "node:fs";
import process from "node:process";
import { connect } from "holdfast";
import { parcelWorkflow } from "./parcel-workflow.ts";

const [url = ""] = process.argv.slice(2);
const say = (text: string): string => {
  writeSync(1, `${text}\n`);
  return text;
};
const parcel = parcelWorkflow({
  pack: () => say("packed"),
  deliver: () => {
    say("delivering");
    return new Promise<string>(() => {});
  },
});
const hf = await connect(url);
const worker = hf.worker({ workflows: [parcel], lease: "1s" });
await worker.start();
say("ready");
