#!/usr/bin/env node
/**
 * The program. `--version` is answered before anything else is loaded. A reader that has seen enough (`| head`) ends the program
 * quietly.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { version } from "./version.ts";

const argv = process.argv.slice(2);

for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });

if (argv.length === 1 && argv[0] === "--version") process.stdout.write(`${version()}\n`);
else {
  const [{ main }, { processIo }] = await Promise.all([import("./main.ts"), import("./io/process-io.ts")]);
  const code = await main(argv, processIo(fileURLToPath(import.meta.url)));
  // The user's code may have left something open, such as a pool of connections. What was written goes out first.
  process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
}
