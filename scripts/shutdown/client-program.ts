// Uses a client and does not close it.
//   node --conditions=holdfast-source --import tsx client-program.ts url
import process from "node:process";
import { connect, silentLogger } from "holdfast";

const hf = await connect(process.argv[2] ?? "", { logger: silentLogger });
const run = await hf.start("nobody-serves-this");
const results: unknown[] = await Promise.all([run.describe(), hf.list(), hf.count(), hf.health()]);
const waited = await run.result({ timeout: "10ms" }).catch((error) => error.code);
if (results.length === 4 && waited === "result_timeout") console.log("started, read, waited");
