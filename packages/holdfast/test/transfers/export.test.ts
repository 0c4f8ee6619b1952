/** Finished runs as JSON lines: out of one store, into another. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { workflow } from "holdfast";
import { afterAll, describe, expect, test } from "vitest";
import { Cluster } from "../lab/harness.ts";

const folder = mkdtempSync(path.join(tmpdir(), "holdfast-export-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const count = workflow("count", async (ctx, left: number): Promise<string> => {
  await ctx.step("tick", () => left);
  if (left > 0) return ctx.continueAsNew(left - 1);
  return "done";
});
const fails = workflow("fails", async (ctx) => {
  await ctx.step(
    "no",
    () => {
      throw new Error("no luck");
    },
    { retry: { attempts: 1 } },
  );
});
const sleeps = workflow("sleeps", async (ctx) => ctx.sleep("nap", "1 day"));

/** Five finished runs, three of one chain, and one that is open. */
async function finished(): Promise<Cluster> {
  const cluster = new Cluster();
  const { client } = cluster.process("server");
  await cluster.process("worker").worker({ workflows: [count, fails, sleeps] });
  await cluster.until(client.run(count, 2, { id: "chain", attributes: { region: "eu" } }));
  await cluster.until(client.run(count, 0, { id: "single" }));
  await cluster.until(client.run(fails, undefined, { id: "failed" }).catch(() => {}));
  await client.start(sleeps, undefined, { id: "open" });
  await cluster.clock.settle();
  return cluster;
}

async function exported(cluster: Cluster): Promise<string> {
  const chunks: Buffer[] = [];
  const to = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  await cluster.until(cluster.process().client.export({ to }));
  return Buffer.concat(chunks).toString();
}

/** The runs of a store, without what differs between stores. */
function contents({ store: { state } }: Cluster): unknown {
  const runs = [...state.runs.values()].filter(({ endedAt }) => endedAt !== null);
  return runs
    .map((run) => [run, state.events.get(run.runId) ?? []])
    .sort((a, b) => ((a[0] as { runId: string }).runId < (b[0] as { runId: string }).runId ? -1 : 1));
}

function importInto(cluster: Cluster, text: string | Buffer) {
  return cluster.until(cluster.process().client.import({ from: Readable.from([Buffer.from(text)]) }));
}

describe("an export", () => {
  test("has every finished run, and an import stores them as they were", async () => {
    const from = await finished();
    const file = path.join(folder, "runs.jsonl");
    const { client } = from.process();
    expect(await client.export({ to: file })).toEqual({ runs: 5, skipped: [], skippedCount: 0, skippedCodes: {} });
    expect(readdirSync(folder)).toEqual(["runs.jsonl"]);
    const to = new Cluster();
    const other = to.process().client;
    expect(await other.import({ from: file })).toEqual({ runs: 5, skipped: [], skippedCount: 0, skippedCodes: {} });
    expect(contents(to)).toEqual(contents(from));
    expect(await to.until(other.get("chain").result())).toBe("done");
    await expect(to.until(other.get("failed").result())).rejects.toMatchObject({ code: "run_failed" });
    expect(await other.get("single").history()).toEqual(await client.get("single").history());
    const again = await other.import({ from: file });
    expect([again.runs, again.skippedCount, again.skipped[0]?.code]).toEqual([0, 5, "run_exists"]);
    expect([...to.store.state.queued, ...to.store.state.dueTasks]).toEqual([]);
  });

  test("has only what the filter says, and never an open run", async () => {
    const from = await finished();
    const { client } = from.process();
    const lines = async (filter: object) => {
      const file = path.join(folder, "some.jsonl");
      const { runs } = await client.export({ to: file, filter });
      return [runs, readFileSync(file, "utf8").trim().split("\n").length];
    };
    expect(await lines({ workflow: "fails" })).toEqual([1, 3]);
    expect(await lines({ status: ["completed", "sleeping"] })).toEqual([2, 4]);
    expect(await lines({ status: "sleeping" })).toEqual([0, 2]);
  });

  test("that fails leaves no file", async () => {
    const from = await finished();
    const { client } = from.process("p", async (method, _params, next) => {
      if (method === "histories.read") throw new Error("the disk is gone");
      return next();
    });
    const to = path.join(folder, "never.jsonl");
    await expect(client.export({ to })).rejects.toThrow("the disk is gone");
    expect(readdirSync(folder).filter((name) => name.startsWith("never"))).toEqual([]);
  });

  test("needs a path or a stream", async () => {
    const { client } = new Cluster().process();
    for (const to of [undefined, 7, "", {}])
      await expect(client.export({ to: to as never })).rejects.toMatchObject({ code: "invalid_option" });
    for (const from of [undefined, 7, "", {}])
      await expect(client.import({ from: from as never })).rejects.toMatchObject({ code: "invalid_option" });
  });
});

describe("an import refuses", () => {
  test("a file that is cut off anywhere, and keeps what came before", async () => {
    const text = await exported(await finished());
    const whole = text.split("\n").length - 1;
    for (const cut of [0, 10, 500, text.length - 30, text.length - 3, text.lastIndexOf("{")]) {
      const to = new Cluster();
      const error = await importInto(to, text.slice(0, cut)).catch((thrown: unknown) => thrown);
      const complete = text.slice(0, cut).split("\n").length - 1;
      expect(error).toMatchObject({ code: "invalid_export", data: { line: complete + 1 } });
      expect([...to.store.state.runs.values()]).toHaveLength(Math.max(0, complete - 1));
      expect(await importInto(to, text)).toMatchObject({ skippedCount: Math.max(0, complete - 1) });
    }
    expect(whole).toBe(7);
    // Only the last line feed is missing.
    expect(await importInto(new Cluster(), text.trimEnd())).toMatchObject({ runs: 5 });
  });

  test("what is no export, or of a newer format", async () => {
    const text = await exported(await finished());
    const [header = "", ...rest] = text.split("\n");
    const newer = header.replace('"format":1', '"format":2');
    const texts = [
      "",
      "hello\n",
      Buffer.from([0, 255, 10, 3]),
      rest.join("\n"),
      `${header}\n${text}`,
      `${text}${text}`,
    ];
    for (const given of [...texts, [newer, ...rest].join("\n")])
      await expect(importInto(new Cluster(), given)).rejects.toMatchObject({ code: "invalid_export" });
    await expect(importInto(new Cluster(), [newer, ...rest].join("\n"))).rejects.toThrow(/newer version/);
  });

  test("a line that says what no run can be, and writes nothing of it", async () => {
    const text = await exported(await finished());
    const lines = text.trim().split("\n");
    const changes: readonly (readonly [field: string, ...values: unknown[]])[] = [
      ["run.status", "running", "pending", "parked", "nonsense", null],
      ["run.epoch", 1e300, -1, 1.5, "1", null, 2 ** 31],
      ["run.runId", "../../x", "", 7, "0".repeat(36)],
      ["run.id", "a\u0000b", "x".repeat(401)],
      ["run.endedAt", null],
      ["run.priority", 10],
      ["run.input", "not base64!"],
      ["run.attributes", { a: { b: 1 } }],
      ["run.lineage", { parent: {} }],
      ["run.eventCount", 99],
      ["run.consumed", 5],
      ["run", []],
      ["events", [], "none"],
      ["events.0.0", 2],
      ["events.0.1", "event_from_the_future"],
      ["messages", [[1, "signal", "go", "m", 0, ""]]],
      ["rest.updates", "all"],
    ];
    const lineWith = (field: string, value: unknown): string => {
      const line = JSON.parse(lines[1] as string) as Record<string, unknown>;
      const names = field.split(".");
      const place = names.slice(0, -1).reduce<object>((at, name) => Reflect.get(at, name) as object, line);
      Reflect.set(place, names.at(-1) as string, value);
      return JSON.stringify(line);
    };
    for (const [field, ...values] of changes)
      for (const value of values) {
        const to = new Cluster();
        const given = [lines[0], lineWith(field, value), ...lines.slice(2)].join("\n");
        const about = { code: "invalid_export", data: { line: 2 } };
        await expect(importInto(to, given), `${field} ${value}`).rejects.toMatchObject(about);
        expect(to.store.state.runs.size).toBe(0);
      }
  });

  test("nothing of what makes a finished run executable: it is left out", async () => {
    const text = await exported(await finished());
    const forged = text.replaceAll(
      '"rest":{',
      '"rest":{"status":"pending","availableAt":0,"tasks":[{}],"parkedBy":"x",',
    );
    const due = forged.replaceAll('"run":{', '"run":{"availableAt":0,"heldBy":"me","suspect":true,');
    const to = new Cluster();
    expect(await importInto(to, due)).toMatchObject({ runs: 5 });
    const { state } = to.store;
    expect([state.queued.size, state.dueTasks.size, state.tasks.size, state.parkedBy.size, state.held.size]).toEqual([
      ...[0, 0, 0, 0, 0],
    ]);
    for (const run of state.runs.values())
      expect([run.availableAt, run.heldBy, run.suspect]).toEqual([null, null, false]);
  });

  test("a run twice in one file: the second one is skipped", async () => {
    const lines = (await exported(await finished())).trim().split("\n");
    const twice = [lines[0], lines[1], lines[1], '{"end":{"runs":2}}'].join("\n");
    const { runs, skipped } = await importInto(new Cluster(), twice);
    expect([runs, skipped.map(({ code }) => code)]).toEqual([1, ["run_exists"]]);
    writeFileSync(path.join(folder, "twice.jsonl"), twice);
  });
});
