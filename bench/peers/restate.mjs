// Restate: its own server, one per measurement, and an SDK endpoint in the measured process.
import { spawn } from "node:child_process";
import { openSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const BINARY = fileURLToPath(
  new URL(
    `node_modules/@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
    import.meta.url,
  ),
);
const PORTS = { ingress: 18644, admin: 19644, node: 15644, endpoint: 17644 };
const PARTITIONS = 4;
const ADMIN = `http://127.0.0.1:${PORTS.admin}`;
const INGRESS = `http://127.0.0.1:${PORTS.ingress}`;

export default {
  name: "restate",
  title: "Restate",
  packages: ["@restatedev/restate-server", "@restatedev/restate-sdk"],
  kind: "engine",
  store: "own",
  settings: `single node, log fsync on (default), ${PARTITIONS} partitions (default 24: fewer are faster on 2 cores), workflow services over HTTP/2; tasks, children: calls of a service; updates, queries: handlers of a virtual object`,
  workloads: [
    ...["ten", "short", "parallel", "latency", "long", "recover", "signals", "sleepers", "tasks"],
    ...["children", "updates", "queries"],
  ],
  prepare: startServer,
  async open({ hooks, again, clientOnly }) {
    const restate = await import("@restatedev/restate-sdk");
    const clients = await import("@restatedev/restate-sdk-clients");
    if (!clientOnly) await restate.serve({ services: servicesFor(restate, hooks), port: PORTS.endpoint });
    if (!again && !clientOnly)
      await ask(`${ADMIN}/deployments`, { uri: `http://127.0.0.1:${PORTS.endpoint}`, force: true });
    const ingress = clients.connect({ url: INGRESS });
    const talk = (id) => ingress.objectClient({ name: "talk" }, id);
    return {
      async start(kind, id, arg) {
        if (kind === "talk") {
          await talk(id).add(0);
          hooks.waiting(id);
          return { result: () => Promise.reject(new Error("an object has no result")) };
        }
        const client = ingress.workflowClient({ name: kind }, id);
        await client.workflowSubmit({ id, arg });
        return { result: () => client.workflowAttach() };
      },
      signal: (id) => ingress.workflowClient({ name: "wait" }, id).go({ ok: true }),
      update: (id, n) => talk(id).add(n),
      query: (id) => talk(id).total(),
      async pending() {
        const query = "select count(*) as n from sys_invocation where status <> 'completed'";
        return Number((await ask(`${ADMIN}/query`, { query })).rows[0].n);
      },
      close: async () => {},
    };
  },
};

function servicesFor(restate, hooks) {
  const bodies = {
    async family(ctx, { id, arg }) {
      const work = ctx.serviceClient({ name: "work" });
      await restate.RestatePromise.all(Array.from({ length: arg }, (_, i) => work.run({ id, i })));
      hooks.finished(id);
      return arg;
    },
    async tasks(ctx, { id, arg }) {
      for (let i = 1; i <= arg; i++) await ctx.serviceClient({ name: "work" }).run({ id, i });
      hooks.finished(id);
      return arg;
    },
    async seq(ctx, { id, arg }) {
      for (let i = 1; i <= arg; i++) await ctx.run(`s${i}`, () => hooks.step(id, i));
      hooks.finished(id);
      return arg;
    },
    async fan(ctx, { id, arg }) {
      const all = Array.from({ length: arg }, (_, i) => ctx.run(`s${i}`, () => hooks.step(id, i)));
      await restate.RestatePromise.all(all);
      hooks.finished(id);
      return arg;
    },
    async sleep(ctx, { id, arg }) {
      hooks.asleep(id);
      await ctx.sleep(arg);
      hooks.finished(id);
    },
    async wait(ctx, { id }) {
      hooks.waiting(id);
      const message = await ctx.promise("go");
      hooks.finished(id);
      return message;
    },
  };
  const go = async (ctx, value) => {
    await ctx.promise("go").resolve(value);
  };
  const workflows = Object.entries(bodies).map(([name, run]) =>
    restate.workflow({ name, handlers: name === "wait" ? { run, go } : { run } }),
  );
  const work = restate.service({ name: "work", handlers: { run: async (_ctx, { id, i }) => hooks.step(id, i) } });
  const talk = restate.object({
    name: "talk",
    handlers: {
      async add(ctx, n) {
        const total = ((await ctx.get("total")) ?? 0) + n;
        ctx.set("total", total);
        return total;
      },
      total: restate.handlers.object.shared((ctx) => ctx.get("total")),
    },
  });
  return [...workflows, work, talk];
}

async function startServer(folder) {
  const logFile = path.join(folder, "restate.log");
  const configFile = path.join(folder, "restate.toml");
  writeFileSync(configFile, configFor(folder));
  const log = openSync(logFile, "a");
  const server = spawn(BINARY, ["--config-file", configFile], { cwd: folder, stdio: ["ignore", log, log] });
  const exited = new Promise((resolve) => server.once("exit", resolve));
  const kill = () => server.kill("SIGKILL");
  process.once("exit", kill);
  const healthy = (url) =>
    fetch(url).then(
      (answer) => answer.ok,
      () => false,
    );
  for (let tries = 0; ; tries++) {
    if ((await healthy(`${ADMIN}/health`)) && (await healthy(`${INGRESS}/restate/health`))) break;
    if (server.exitCode !== null || tries > 600) {
      kill();
      throw new Error(`restate-server did not start: ${readFileSync(logFile, "utf8").slice(-1500)}`);
    }
    await delay(100);
  }
  const stop = async () => {
    process.off("exit", kill);
    kill();
    await exited;
  };
  return { pid: server.pid, stop };
}

function configFor(folder) {
  return `node-name = "bench"
cluster-name = "bench"
base-dir = "${folder}/data"
default-num-partitions = ${PARTITIONS}
bind-address = "127.0.0.1:${PORTS.node}"
advertised-address = "http://127.0.0.1:${PORTS.node}"
disable-telemetry = true
log-filter = "warn"
[admin]
bind-address = "127.0.0.1:${PORTS.admin}"
disable-web-ui = true
[ingress]
bind-address = "127.0.0.1:${PORTS.ingress}"
`;
}

async function ask(url, body) {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
