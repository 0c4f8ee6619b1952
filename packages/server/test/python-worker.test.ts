// A worker in Python, made from the .proto files alone.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { task, workflow } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findOrUnpackPythonGrpc, type PythonGrpc } from "../../../scripts/test-servers.mjs";
import { type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

const protocol = path.dirname(createRequire(import.meta.url).resolve("@holdfast/protocol/package.json"));
const { missing, ...python } = findOrUnpackPythonGrpc() as Partial<PythonGrpc> & { readonly missing?: string };
const shout = task({ name: "shout", queue: "python" }, async (_: string): Promise<string> => {
  throw new Error("no worker with this code serves the queue");
});
const speech = workflow("speech", (ctx, text: string) => ctx.task(shout, text));

// skip: where neither Debian nor the machine has Python with gRPC, the worker on grpc-js is the proof
describe.skipIf(missing !== undefined)(`a worker in Python${missing ? `: ${missing}` : ""}`, () => {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-python-"));
  const steps = path.join(folder, "steps");
  const children: ChildProcess[] = [];
  let t: ServerUnderTest;

  beforeAll(async () => {
    t = await serverUnderTest();
    const include = path.join(protocol, "proto");
    const files = ["common", "workflow", "worker"].map((name) => `holdfast/v1/${name}.proto`);
    const { generate } = python as PythonGrpc;
    const outputs = [`--python_out=${folder}`, `--grpc_python_out=${folder}`];
    const [program, args] = generate("-I", include, ...outputs, ...files);
    const env = { ...process.env, ...python.env };
    const generated = spawnSync(program, args, { env, encoding: "utf8" });
    expect(generated.stderr).toBe("");
    const hf = await t.connect();
    await hf.worker({ workflows: [speech] }).start();
  });
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    await t.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function startWorker(how: string, env: Record<string, string> = {}): Promise<ChildProcess> {
    const file = path.join(import.meta.dirname, "python", "worker.py");
    const paths = [folder, python.env?.["PYTHONPATH"] ?? ""].join(path.delimiter);
    const child = spawn(python.python as string, [file, `127.0.0.1:${t.server.port}`, how], {
      env: { ...process.env, ...python.env, PYTHONPATH: paths, STEP_LOG: steps, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    await once(child.stdout as NodeJS.ReadableStream, "data");
    return child;
  }

  test.each(["unary", "attach"])("does tasks and a workflow with steps, a retry and a sleep (%s)", async (how) => {
    writeFileSync(steps, "");
    const worker = await startWorker(how);
    const hf = await t.connect();
    expect(await (await hf.start(speech, "hello")).result()).toBe("HELLO");
    const run = await hf.start("order", { amount: 7 }, { queue: "python" });
    expect(await run.result()).toEqual({ paid: 7, parcel: "sent" });
    expect(readFileSync(steps, "utf8").trim().split("\n")).toEqual(["charge 1", "charge 2", "ship 1"]);
    worker.kill("SIGKILL");
    await once(worker, "exit");
  });

  test("that is killed in a step is followed by another, which repeats that step alone", async () => {
    writeFileSync(steps, "");
    const hf = await t.connect();
    const dying = await startWorker("unary", { DIE_IN: "ship" });
    const run = await hf.start("order", { amount: 8 }, { queue: "python" });
    await once(dying, "exit");
    await startWorker("attach");
    expect(await run.result()).toEqual({ paid: 8, parcel: "sent" });
    expect(readFileSync(steps, "utf8").trim().split("\n")).toEqual(["charge 1", "charge 2", "ship 1", "ship 1"]);
    const completed = (await run.history()).filter(({ type }) => type === "step_completed");
    expect(completed.map(({ op }) => op)).toEqual(["charge", "ship"]);
  }, 60_000);
});
