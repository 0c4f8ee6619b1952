// Every verb in a process of its own, in a pipe and on a pseudo-terminal, on both stores and through a server.
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import * as serverPackage from "@holdfast/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VERBS } from "../src/command/verbs.ts";
import { ChildCommand } from "./child-command.ts";
import { eventually, KINDS, type Kind, newFolder, newStore, StoreUnderTest, sampleCode } from "./command-under-test.ts";
import { allowed } from "./sample-code.ts";

const program = fileURLToPath(new URL("./many-verbs.ts", import.meta.url));
const packages = { "@holdfast/server": serverPackage, "@holdfast/remote": {} };
const COLUMNS = 76;
type Way = "a pipe" | "a pseudo-terminal";
const WAYS: readonly Way[] = process.platform === "linux" ? ["a pipe", "a pseudo-terminal"] : ["a pipe"];
/** Verbs that run until they are told to stop, and load that checking.test.ts puts on both stores in a pipe. */
const ELSEWHERE: Readonly<Record<Way, readonly string[]>> = {
  "a pipe": ["dev", "server", "worker", "bench", "torture"],
  "a pseudo-terminal": ["dev", "server", "worker", "top"],
};

/** A command line without the URL, and its exit code. */
type Line = readonly [code: number, ...argv: string[]];

/** What differs between a pipe and a terminal: one picture or many, and load, which takes its time. */
function linesOf(way: Way, kind: Kind): Line[] {
  const load: Line[] = [
    [0, "bench", "--seconds", "1", "--in-flight", "5"],
    [0, "torture", "--seconds", "1", "--workers", "2"],
  ];
  // Servers refuse it at once.
  const refused = load.map(([, ...argv]): Line => [2, ...argv]);
  const top: Line[] = [[0, "top"]];
  if (way === "a pipe") return kind === "a server" ? [...top, ...refused] : top;
  return kind === "a server" ? refused : load;
}

async function linesFor(store: StoreUnderTest, kind: Kind, folder: string, other: string): Promise<Line[]> {
  const { hf } = store;
  const order = ["--input", '{"cents":990}'];
  for (const id of ["ask-1", "ask-2"]) await hf.start("asking", undefined, { id });
  await hf.start("mailing", { to: "nobody" }, { id: "mail-1" });
  const tasks = async (status: string): Promise<string[]> =>
    (await store.json("tasks", "list", "--status", status, "--tokens")).records.map(({ token }) => String(token));
  await eventually(() => tasks("external")).toHaveLength(2);
  await eventually(() => tasks("dead")).toHaveLength(1);
  const tokens = [...(await tasks("external")), ...(await tasks("dead"))];
  const [key] = (await store.run(["--json", "token", "create", "--role", "reader"], { packages })).records;
  const [worker] = await hf.workers.list();
  const stored = kind === "a server" ? 2 : 0;
  const range = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T02:00:00Z"];
  return [
    [stored, "migrate"],
    [stored, "migrate", "--check"],
    [0, "health"],
    [0, "workflow", "start", "order", "--id", "o-1", ...order, "--attribute", "region=eu"],
    [0, "workflow", "start", "order", "--id", "an-order-with-a-name-that-is-much-too-long-for-a-terminal", ...order],
    [0, "workflow", "start", "double", "--id", "d-1", "--input", '{"n":21}', "--wait", "--timeout", "60s"],
    [1, "workflow", "start", "failing", "--id", "f-1", "--wait", "--timeout", "60s"],
    [0, "workflow", "list"],
    [0, "workflow", "count", "--attribute", "region=eu"],
    [0, "workflow", "describe", "o-1"],
    [0, "workflow", "history", "d-1", "--values"],
    [0, "workflow", "steps", "o-1"],
    [0, "workflow", "result", "d-1"],
    [0, "workflow", "query", "o-1", "progress"],
    [0, "workflow", "update", "o-1", "add", "--input", "10"],
    [0, "workflow", "why", "o-1"],
    [0, "workflow", "fork", "o-1", "--before", "charge", "--new-id", "o-2"],
    [0, "workflow", "pause", "o-1", "--reason", "lunch"],
    [0, "workflow", "resume", "o-1"],
    [0, "workflow", "signal", "o-1", "approve", "--input", '{"by":"ann"}'],
    [0, "workflow", "watch", "o-1"],
    [0, "workflow", "retry", "f-1"],
    [0, "workflow", "cancel", "o-2"],
    [0, "workflow", "terminate", "--workflow", "order", "--yes"],
    [0, "schedule", "create", "nightly", "--workflow", "double", "--cron", "0 3 * * *", "--input", '{"n":1}'],
    [0, "schedule", "list"],
    [0, "schedule", "update", "nightly", "--cron", "0 4 * * *"],
    [0, "schedule", "pause", "nightly"],
    [0, "schedule", "resume", "nightly"],
    [0, "schedule", "trigger", "nightly"],
    [0, "schedule", "backfill", "nightly", ...range],
    [0, "schedule", "upcoming", "nightly", "--count", "2"],
    [0, "schedule", "runs", "nightly"],
    [0, "schedule", "describe", "nightly"],
    [0, "schedule", "delete", "nightly", "--yes"],
    [0, "schedule", "preview", "--every", "1h", "--count", "2"],
    [0, "queue", "set", "default", "--concurrency", "50"],
    [0, "queue", "list"],
    [0, "workers", "list"],
    [0, "workers", "events"],
    [0, "versions", "list"],
    [0, "versions", "set-default", "double", "1"],
    [0, "versions", "deprecate", "double", "1"],
    [0, "tasks", "list"],
    [0, "tasks", "get", tokens[0] ?? ""],
    [0, "tasks", "complete", tokens[0] ?? "", "--input", '{"by":"ann"}'],
    [0, "tasks", "fail", tokens[1] ?? "", "--message", "no", "--non-retryable"],
    [0, "tasks", "retry", tokens[2] ?? ""],
    [0, "replay-check", sampleCode],
    [0, "retention", "set", "--completed", "30d"],
    [0, "retention", "get"],
    [0, "export", "--to", path.join(folder, "runs.jsonl"), "--status", "completed"],
    [0, "import", "--from", path.join(folder, "runs.jsonl")],
    [0, "move", "--to", other, "--workflow", "nobody", "--yes"],
    [0, "purge", "--older-than", "30d", "--yes"],
    [0, "namespace", "create", "shop"],
    [0, "namespace", "disable", "shop"],
    [0, "namespace", "enable", "shop"],
    [0, "namespace", "list"],
    [0, "token", "create", "--role", "worker"],
    [0, "token", "list"],
    [0, "token", "revoke", String(key?.["id"])],
    [0, "audit"],
    [0, "context", "add", "prod", "--url", "postgres://ann:secret@db/app"],
    [0, "context", "use", "prod"],
    [0, "context", "list"],
    [0, "context", "remove", "prod"],
    [0, "completion", "bash"],
    [0, "workers", "drain", String(worker?.workerId)],
  ];
}

describe.concurrent.each(KINDS)("on %s", (kind) => {
  describe.sequential.each(WAYS)("in %s", (way) => {
    const folder = newFolder();
    const other = newStore("SQLite");
    let store: StoreUnderTest;
    beforeAll(async () => {
      allowed.clear();
      store = await StoreUnderTest.open(kind);
    });
    afterAll(async () => {
      await store.close();
      await other.remove();
      rmSync(folder, { recursive: true, force: true });
    });

    test("every verb does its work, and prints what its reader can read", { timeout: 180_000 }, async () => {
      const lines = [...(await linesFor(store, kind, folder, other.url)), ...linesOf(way, kind)];
      const file = path.join(folder, "lines.json");
      writeFileSync(file, JSON.stringify(lines.map(([, ...argv]) => argv)));
      const child = new ChildCommand([file], {
        program,
        env: { HOLDFAST_URL: store.url, HOLDFAST_CONFIG_DIR: folder },
        ...(way === "a pipe" ? {} : { terminal: COLUMNS }),
      });
      child.process.stdin?.end();
      expect(await child.ended).toBe(0);
      const parts = child.out.split("### begin ").slice(1);
      const codes = parts.map((part) => Number(/### end (\d+)/.exec(part)?.[1]));
      expect(lines.map(([, ...argv], index) => [codes[index], ...argv])).toEqual(lines);
      expect(child.out + child.err).not.toMatch(/\bundefined\b|\[object |\bNaN\b|\n {4}at /);
      expect(child.out + child.err).not.toContain("secret@");
      if (way === "a pipe") expect(child.out + child.err).not.toContain("\u001b");
      else {
        expect(child.out).toContain("\u001b[");
        const listed = parts[lines.findIndex(([, ...argv]) => argv.join(" ") === "workflow list")] ?? "";
        for (const line of listed.replace(/\u001b\[[\d;?]*[a-zA-Z]/g, "").split("\r\n"))
          expect(line.length).toBeLessThanOrEqual(COLUMNS);
      }
      const spoken = lines.map(([, ...argv]) => `${argv.join(" ")} `);
      const missed = VERBS.map((verb) => verb.path).filter(
        (verb) => !ELSEWHERE[way].includes(verb) && !spoken.some((line) => line.startsWith(`${verb} `)),
      );
      expect(missed).toEqual([]);
    });
  });
});
