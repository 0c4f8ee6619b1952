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
  process.exitCode = await main(argv, processIo(fileURLToPath(import.meta.url)));
  // Something of the application (a pool of connections, a timer) may still be open: the verb has ended, and all is closed.
  if (process.exitCode === 130) process.exit();
}
