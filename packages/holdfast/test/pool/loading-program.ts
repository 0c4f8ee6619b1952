// A program whose pool has a module that never finishes loading, and which is killed meanwhile.
import { connect, silentLogger, task } from "holdfast";
import { EXEC_ARGV } from "../lab/pool-module.ts";

const echo = task("echo", (text: string) => text);
const hf = await connect("memory:", { logger: silentLogger });
const module = new URL(process.argv[2] as string);
await hf.worker({ tasks: [echo], pool: { module, execArgv: EXEC_ARGV, processes: 1 } }).start();
