// A step hangs on its worker. The watchdog restarts the run elsewhere, and tells a webhook what was wrong.
//   npm start 21-watchdog
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Alert, connect, silentLogger, workflow } from "holdfast";

const secret = "shared with the receiver";
const alerts: Alert[] = [];
const receiver = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  const genuine = request.headers["x-holdfast-signature"] === signature;
  if (genuine) alerts.push(JSON.parse(body) as Alert);
  response.writeHead(genuine ? 204 : 401).end();
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const { port } = receiver.address() as AddressInfo;

let executions = 0;
const pack = workflow("pack", (ctx) =>
  ctx.step("wrap", () => {
    executions += 1;
    // The first time, the machine is jammed.
    return executions === 1 ? new Promise<string>(() => {}) : "wrapped";
  }),
);

const hf = await connect("memory:", { logger: silentLogger });
const stalled = { detect: "stalled_run", after: "1s" } as const;
const worker = hf.worker({
  workflows: [pack],
  watchdog: {
    every: "1s",
    rules: [
      { ...stalled, action: "alert" },
      { ...stalled, action: "restart" },
    ],
    webhook: { url: `http://127.0.0.1:${port}/`, secret },
  },
});
await worker.start();
const run = await hf.start(pack, undefined, { id: "order-1" });
console.log("result:", await run.result(), `(executed ${executions} times)`);
const restart = (await run.history()).find(({ type }) => type === "run_restarted");
console.log("history:", restart?.type, "by", restart?.data?.["by"]);
console.log("alert:", alerts[0]?.state, alerts[0]?.detect, "of", alerts[0]?.run?.id);
console.log("health:", (await hf.health()).status);
await hf.close();
receiver.closeAllConnections();
receiver.close();
