// What every runtime must be able to do, on the given store:
//   <runtime> smoke.mjs memory: | file:… | postgres://…
// An order with a retry, a signal, a sleep, a transaction step and a compensation. On a store that processes can share,
// its first worker is a separate process, which is killed in the middle of a step. Prints "ok", or throws.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { connect, signal, silentLogger, workflow } from "holdfast";

const [url, role = "client"] = process.argv.slice(2);
const adapter = url.startsWith("memory:")
  ? undefined
  : await import(url.startsWith("file:") ? "@holdfast/sqlite" : "@holdfast/postgres");

const approve = signal("approve");
const tell = (what) => process.send?.({ what });

const order = workflow("order", async (ctx, input) => {
  const payment = await ctx.step(
    "charge",
    (s) => {
      if (s.attempt === 1) throw new Error("the bank is down");
      return { id: input.id, at: new Date(0), cents: 990n, attempt: s.attempt };
    },
    { retry: { attempts: 2, fixed: "10ms" } },
  );
  const approval = await ctx.receive(approve, { timeout: "1 minute" });
  await ctx.sleep("cool-off", "10ms");
  const booked = adapter ? await adapter.transaction(ctx, "book", (tx) => read(tx)) : 1;
  const label = await ctx.step("label", async (s) => {
    tell("label");
    // The first worker never gets past this step.
    if (role === "worker") await once(s.signal, "abort");
    return `label of ${input.id}`;
  });
  return { payment, approvedBy: approval.by, booked, label };
});

const failing = workflow("failing", async (ctx) => {
  await ctx.step("reserve", () => "room 7", { compensate: (room, c) => void undone.push(`${room} ${c.outcome}`) });
  await ctx.step("fail", () => Promise.reject(new RangeError("full")), { retry: "none" });
});

const undone = [];
const expected = {
  payment: { id: "o-1", at: new Date(0), cents: 990n, attempt: 2 },
  approvedBy: "Ann",
  booked: 1,
  label: "label of o-1",
};

if (role === "worker") await work();
else await check();

async function work() {
  process.on("disconnect", () => process.exit());
  const hf = await connect(url, { logger: silentLogger });
  await hf.worker({ workflows: [order], lease: "1s", name: "first" }).start();
  tell("ready");
}

async function check() {
  const hf = await connect(url, { logger: silentLogger });
  const doomed = adapter ? await startDoomed() : undefined;
  if (!doomed) await hf.worker({ workflows: [order, failing] }).start();
  const run = await hf.start(order, { id: "o-1" }, { id: "o-1" });
  await run.signal(approve, { by: "Ann" });
  if (doomed) {
    await doomed.reached("label");
    await doomed.kill();
    await hf.worker({ workflows: [order, failing], lease: "1s", name: "second" }).start();
  }
  assert.deepEqual(await run.result({ timeout: "30s" }), expected);
  await assert.rejects(hf.run(failing), (error) => error.code === "run_failed" && error.cause.name === "RangeError");
  assert.deepEqual(undone, ["room 7 completed"]);
  const { runs } = await hf.list({ status: "failed" });
  assert.equal(runs.length, 1);
  await hf.close();
  console.log("ok");
}

async function startDoomed() {
  const child = fork(fileURLToPath(import.meta.url), [url, "worker"]);
  const exited = once(child, "exit");
  const told = new Set();
  let wake = () => {};
  child.on("message", ({ what }) => {
    told.add(what);
    wake();
  });
  const gone = exited.then(() => Promise.reject(new Error("the first worker ended unexpectedly")));
  gone.catch(() => {});
  const reached = async (what) => {
    while (!told.has(what)) {
      const next = new Promise((resolve) => {
        wake = resolve;
      });
      await Promise.race([next, gone]);
    }
  };
  await reached("ready");
  return {
    reached,
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

function read(tx) {
  return tx.get ? tx.get("select 1 as one").one : tx.query("select 1 as one").then(({ rows }) => rows[0].one);
}
