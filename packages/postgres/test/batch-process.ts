// A caller of a batch in its own process. It prints how far the batch is: the test kills it in the midst of it.
import { writeSync } from "node:fs";
import process from "node:process";
import { connect, signal } from "holdfast";

const [url = ""] = process.argv.slice(2);
const hf = await connect(url);
await hf.batch({ workflow: "parcel" }).signal(signal<string>("shipped"), "by rail", {
  id: "ship-all",
  perSecond: 100,
  onProgress: ({ done }) => void writeSync(1, `${done}\n`),
});
