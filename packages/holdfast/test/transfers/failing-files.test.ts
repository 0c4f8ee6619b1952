/** Files and streams that fail, and lines that no export has written. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { type Client, connect, silentLogger, workflow } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const folder = mkdtempSync(path.join(tmpdir(), "failing-files-"));
const one = workflow("one", async (ctx) => ctx.step("it", () => 1));
let client: Client;
let lines: string[];

beforeAll(async () => {
  client = await connect("memory:", { logger: silentLogger });
  const worker = client.worker({ workflows: [one] });
  await worker.start();
  await client.run(one, undefined, { id: "a" });
  await worker.stop();
  const chunks: string[] = [];
  await client.export({ to: writable((chunk, done) => done(void chunks.push(chunk))) });
  lines = chunks.join("").trim().split("\n");
});

afterAll(async () => {
  await client.close();
  rmSync(folder, { recursive: true, force: true });
});

function writable(write: (chunk: string, done: (error?: Error | null) => void) => void): Writable {
  return new Writable({ write: (chunk, _encoding, done) => write(String(chunk), done as never) });
}

describe("an export", () => {
  test("to a path that cannot be written says which, and why", async () => {
    const to = path.join(folder, "missing", "file");
    const cause = { code: "ENOENT" };
    await expect(client.export({ to })).rejects.toMatchObject({ code: "file_failed", data: { path: to }, cause });
    await expect(client.export({ to: folder })).rejects.toMatchObject({ code: "file_failed" });
  });

  test("to a stream that fails is rejected, and a later error of the stream ends no process", async () => {
    const broken = new Error("disk full");
    const failing = writable((_chunk, done) => done(broken));
    await expect(client.export({ to: failing })).rejects.toMatchObject({ code: "file_failed", cause: broken });
    const later = writable((_chunk, done) => done());
    await client.export({ to: later });
    const closed = new Promise((resolve) => later.once("close", resolve));
    later.destroy(new Error("late"));
    await closed;
  });

  test("to a stream that is destroyed while a write is pending does not hang", async () => {
    const stuck = writable(() => void stuck.destroy());
    await expect(client.export({ to: stuck })).rejects.toMatchObject({ code: "file_failed" });
  });
});

describe("an import", () => {
  test("from a path or a stream that cannot be read says so", async () => {
    const from = path.join(folder, "nothing");
    const cause = { code: "ENOENT" };
    await expect(client.import({ from })).rejects.toMatchObject({ code: "file_failed", data: { path: from }, cause });
    await expect(client.import({ from: folder })).rejects.toMatchObject({ cause: { code: "EISDIR" } });
    const broken = new Error("reset");
    const failing = new Readable({ read: () => void failing.destroy(broken) });
    await expect(client.import({ from: failing })).rejects.toMatchObject({ code: "file_failed", cause: broken });
  });

  const bad: readonly (readonly [string, (line: any) => void])[] = [
    ["run.continuedAs that is the run itself", (line) => Object.assign(line.run, { continuedAs: line.run.runId })],
    ["run.continuedFrom that is the run itself", (line) => Object.assign(line.run, { continuedFrom: line.run.runId })],
    ["run.createdAt that is not a whole number", (line) => Object.assign(line.run, { createdAt: -1 })],
    ["run.endedAt that is not a whole number", (line) => Object.assign(line.run, { endedAt: 8.65e15 })],
    ["more than a day ahead", (line) => Object.assign(line.run, { endedAt: line.run.endedAt + 3 * 86_400_000 })],
    ["more than a day ahead", (line) => line.events[0].splice(3, 1, line.events[0][3] + 3 * 86_400_000)],
    ["run.suspect that is neither", (line) => Object.assign(line.run, { suspect: "no" })],
    ["run.waitingFor that is not a list", (line) => Object.assign(line.run, { waitingFor: 7 })],
    ["messageId that is not a text", (line) => line.events[0].splice(5, 1, { messageId: 7 })],
    ["attempt that is not a number", (line) => line.events[0].splice(5, 1, { attempt: "1" })],
    ["error.name that is not a text", (line) => line.events[0].splice(5, 1, { error: {} })],
  ];

  test.each(bad)("refuses a line with %s", async (says, change) => {
    const target = await connect("memory:", { logger: silentLogger });
    const line = JSON.parse(lines[1] as string);
    change(line);
    const from = Readable.from([lines[0], JSON.stringify(line), lines[2]].map((text) => `${text}\n`));
    await expect(target.import({ from })).rejects.toMatchObject({
      ...{ code: "invalid_export", data: { line: 2 }, message: expect.stringContaining(says) },
    });
    expect(await target.count()).toBe(0);
    await target.close();
  });

  test("says of a line that is not an object just that", async () => {
    const from = path.join(folder, "list");
    writeFileSync(from, "[]\n");
    await expect(client.import({ from })).rejects.toMatchObject({
      ...{ code: "invalid_export", data: { line: 1 }, message: "import: line 1 is not an object." },
    });
  });
});

test.each(["memory:", "memory:named"])("a move to the URL %s is refused: the runs would be gone", async (to) => {
  await expect(client.move({ to })).rejects.toMatchObject({
    ...{ code: "invalid_option", message: expect.stringMatching(/pass a client/) },
  });
});
