import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { type Client, connect, silentLogger } from "holdfast";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openStage, type Stage } from "./stage.ts";
import { bundleProgram, type WorkerBundle } from "./worker-bundle.ts";

/** Far below the lease of 30 seconds, and far above what it takes. */
const AT_ONCE_MS = 10_000;
const PATIENCE_MS = 60_000;

interface Program {
  /** Resolves when it has written that line. */
  wrote(line: string): Promise<void>;
  kill(): Promise<void>;
}

const STORES: readonly [name: string, url: () => string][] = [
  ["SQLite", () => `file:${path.join(tmpdir(), "app.db")}`],
  ["PostgreSQL", () => process.env.HOLDFAST_TEST_POSTGRES_URL ?? ""],
];

let program: WorkerBundle;

beforeAll(async () => {
  program = await bundleProgram("restarted-worker.ts");
});

afterAll(() => program.remove());

describe.concurrent.each(STORES)("on %s", (_name, url) => {
  const children = new Set<ChildProcess>();
  let stage: Stage;
  let hf: Client;

  /** The worker's program, once it has started. */
  async function start(mode: "hangs" | "ends", name = ""): Promise<Program> {
    const { url: place, schema = "" } = stage.place;
    const args = [program.file, place, schema, mode, name];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    children.add(child);
    const lines: string[] = [];
    const reader = createInterface({ input: child.stdout });
    reader.on("line", (line) => lines.push(line));
    const wrote = async (line: string): Promise<void> => {
      while (!lines.includes(line)) await once(reader, "line");
    };
    const kill = async (): Promise<void> => {
      child.kill("SIGKILL");
      await once(child, "exit");
    };
    await wrote("started");
    return { wrote, kill };
  }

  beforeEach(async () => {
    if (url() === "") throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
    stage = await openStage(url());
    const { schema } = stage.place;
    hf = await connect(stage.place.url, { logger: silentLogger, ...(schema === undefined ? {} : { schema }) });
  });

  afterEach(async () => {
    for (const child of children) child.kill("SIGKILL");
    children.clear();
    await hf.close();
    await stage.remove();
  });

  test.sequential.each([
    ["that was given no name", ""],
    ["with a name", "couriers"],
  ])(
    "a worker %s that is started again after kill -9 goes on at once with its runs",
    async (_title, name) => {
      const first = await start("hangs", name);
      const run = await hf.start("parcel", undefined, { id: "p" });
      await first.wrote("delivering");
      await first.kill();
      await start("ends", name);
      expect(await run.result()).toBe("delivered");
      const [dead, second] = await hf.workers.list();
      const { endedAt } = await run.describe();
      expect(dead).toMatchObject({ status: "offline", died: true, name: second?.name });
      expect((endedAt?.getTime() ?? 0) - (second?.startedAt ?? 0)).toBeLessThan(AT_ONCE_MS);
    },
    PATIENCE_MS,
  );

  test.sequential(
    "a worker that lives keeps its runs when another process of the same name starts beside it",
    async () => {
      const first = await start("hangs");
      const run = await hf.start("parcel", undefined, { id: "p" });
      await first.wrote("delivering");
      const { workerId } = await run.describe();
      await start("ends");
      const [one, other] = await hf.workers.list();
      expect([one?.status, other?.status]).toEqual(["online", "online"]);
      expect(one?.name).toBe(other?.name);
      expect(await run.describe()).toMatchObject({ workerId, status: "running" });
      expect((await hf.why("p")).reason).toMatch(
        /is working on it; its last heartbeat was .+ ago, and its lease expires in /,
      );
    },
    PATIENCE_MS,
  );
});
