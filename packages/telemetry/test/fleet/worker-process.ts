/** A worker process: `<role> <store> <collector>`. It stops when it is told so, or when the test is gone. */
import process from "node:process";
import { connect, silentLogger } from "holdfast";
import { openTelemetry } from "../../src/index.ts";
import { crossing, order, pack, send } from "./order.ts";
import { traceTo } from "./tracing.ts";

const [role, store, collector] = process.argv.slice(2) as [string, string, string];

if (role === "doomed")
  crossing.meet = () => {
    process.send?.("crossing");
    return new Promise(() => {});
  };

const tracerProvider = traceTo(collector);
const hf = await connect(store, { telemetry: openTelemetry({ tracerProvider }), logger: silentLogger });
const work =
  role === "tasks" ? { workflows: [], tasks: [send], name: "tasks" } : { workflows: [order, pack], name: "w" };
await hf.worker({ ...work, cacheSize: 0 }).start();
process.send?.("ready");

process.on("disconnect", () => process.exit());
process.on("message", async () => {
  await hf.close();
  await tracerProvider.shutdown();
  process.exit();
});
