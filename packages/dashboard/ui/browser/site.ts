// A dashboard for a browser to look at: a real store, a real worker, a real HTTP server, and runs in every state.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type Client, connect, silentLogger } from "holdfast";
import { dashboard } from "../../src/index.ts";
import { toNode } from "../../src/node.ts";
import { HOSTILE, type OrderInput, reserve, WORKFLOWS } from "./site-workflows.ts";

export interface Site {
  readonly hf: Client;
  /** With a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

/** Roles come from a cookie, as an application's own login would set one. */
function visitorOf(request: Request) {
  const role = /role=(reader|writer|admin)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? "admin";
  return { user: "ann", role: role as "reader" | "writer" | "admin", namespaces: ["*"], payloads: "full" as const };
}

export async function openSite(options: { readonly empty?: boolean; readonly base?: string } = {}): Promise<Site> {
  const hf = await connect("memory:", { logger: silentLogger });
  const base = options.base ?? "/admin/holdfast";
  const board = dashboard(hf, { base, auth: visitorOf });
  const server = createServer(toNode(board));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  if (!options.empty) await fill(hf);
  return {
    hf,
    url: `http://127.0.0.1:${port}${base === "/" ? "" : base}/`,
    async close() {
      await board.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await hf.close();
    },
  };
}

const ENDINGS = ["wait", "complete", "fail", "retry", "sleep", "bug"] as const;

async function fill(hf: Client): Promise<void> {
  const { order, hostile, many, inspected, tax } = WORKFLOWS;
  const worker = hf.worker({
    workflows: [order, hostile, many, inspected, tax],
    tasks: [reserve],
    queues: ["default", "stock"],
    name: "eu-1",
  });
  await worker.start();
  for (let index = 0; index < 24; index++) {
    const ending = ENDINGS[index % ENDINGS.length] ?? "wait";
    const input: OrderInput = { id: `o-${index}`, cents: 990 + index, ending };
    await hf.start(order, input, { id: `order-o-${index}`, attributes: { customer: `c-${index % 5}`, region: "eu" } });
  }
  for (const [index, text] of HOSTILE.entries()) {
    await hf.start(
      hostile,
      { text },
      {
        id: `hostile-${index}${text.replace(/[\u0000-\u001f]/g, "")}`,
        attributes: { text: text.replaceAll("\u0000", "") },
      },
    );
  }
  await hf.start(many, { ops: 3000 }, { id: "many" });
  await hf.start(inspected, undefined, { id: "inspected" });
  await hf.schedules.create({
    id: "nightly-orders",
    workflow: "order",
    input: { id: "n", cents: 1 },
    cron: "0 3 * * *",
  });
  while ((await hf.count({ status: ["pending", "running"] })) > 0) await pause(50);
  await hf
    .get("order-o-0")
    .pause({ reason: "the bank is down", by: "ann" })
    .catch(() => {});
  await hf
    .get("order-o-0")
    .resume()
    .catch(() => {});
  await hf.get("order-o-6").cancel({ reason: "duplicate", by: "ann" });
  await hf.get("order-o-12").terminate({ reason: "test data", by: "ben" });
}
