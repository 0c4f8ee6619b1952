// A process that runs many command lines one after the other, on its own standard output: `node many-verbs.ts <file with a JSON array>`. A
// line before and after each says where it begins and how it ended.
import { readFileSync } from "node:fs";
import process from "node:process";
import { processIo } from "../src/io/process-io.ts";
import { main } from "../src/main.ts";

const [file = ""] = process.argv.slice(2);
const io = processIo(process.argv[1] ?? "");

for (const argv of JSON.parse(readFileSync(file, "utf8")) as readonly (readonly string[])[]) {
  process.stdout.write("\n### begin \n");
  process.stdout.write(`\n### end ${await main(argv, io)}\n`);
}
process.exit(0);
