// Orders, and the page that Prometheus reads, on node:http. It ends by itself: "Prometheus" below is a fetch.
//   npm start 19-metrics
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { prometheus } from "@holdfast/telemetry";
import { connect, RetryableError, workflow } from "holdfast";

const order = workflow("order", async (ctx, item: string) => {
  await ctx.step(
    "charge",
    (s) => {
      if (item === "piano" && s.attempt === 1) throw new RetryableError("the bank is away");
      return "paid";
    },
    { retry: { attempts: 3, fixed: "10ms" } },
  );
  return await ctx.step("ship", () => `${item} shipped`);
});

const telemetry = prometheus();
const hf = await connect("memory:", { telemetry });
await hf.worker({ workflows: [order], name: "shop" }).start();

const server = createServer(async (request, response) => {
  if (request.url !== "/metrics") return void response.writeHead(404).end();
  response.setHeader("Content-Type", telemetry.contentType).end(await telemetry.metrics());
});
server.listen(0, "127.0.0.1"); // 9464 in production
await once(server, "listening");

for (const item of ["lamp", "piano", "chair"]) console.log(await hf.run(order, item));

const scraped = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`);
for (const line of (await scraped.text()).split("\n"))
  if (/^holdfast_(runs_(started|ended)|step_\w+)_total/.test(line)) console.log(line);

server.close();
await hf.close();
