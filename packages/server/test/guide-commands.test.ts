// The commands of the guide are executed as written, but for the port, and answer what it says.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { openClients, systemPorts } from "holdfast/adapter";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKey } from "../src/index.ts";
import { type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

const run = promisify(execFile);
const PAGES = ["server", "access", "other-languages"] as const;

interface Command {
  readonly script: string;
  /** As the page shows it; "…" stands for anything. */
  readonly answer: unknown;
}

function commandsOf(page: string): Command[] {
  const text = readFileSync(new URL(`../../../docs/guide/${page}.md`, import.meta.url), "utf8");
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = "", body = ""]) => ({
    language,
    body,
  }));
  return blocks.flatMap(({ language, body }, i) => {
    if (language !== "sh") return [];
    const next = blocks[i + 1];
    return [{ script: body, answer: next?.language === "json" ? JSON.parse(next.body) : undefined }];
  });
}

/** The expected value with every "…" replaced by what is there. */
function filled(expected: unknown, actual: unknown): unknown {
  if (expected === "…") return actual ?? "missing";
  if (Array.isArray(expected)) return expected.map((one, i) => filled(one, (actual as unknown[])?.[i]));
  if (typeof expected !== "object" || expected === null) return expected;
  return Object.fromEntries(
    Object.entries(expected).map(([key, value]) => [key, filled(value, (actual as Record<string, unknown>)?.[key])]),
  );
}

describe.each(PAGES)("the commands of %s.md", (page) => {
  let t: ServerUnderTest;
  const env: Record<string, string> = {};

  beforeAll(async () => {
    t = await serverUnderTest(page === "access" ? { auth: "keys" } : {});
    const { opened } = await openClients(t.store);
    const key = { name: "first", role: "admin", namespace: "*", expiresAt: null } as const;
    env["TOKEN"] = (await createKey(opened.access!, systemPorts.random, key)).token;
  });
  afterAll(() => t.close());

  test("answer what the page shows", async () => {
    const commands = commandsOf(page);
    expect(commands.length).toBeGreaterThan(1);
    for (const { script, answer } of commands) {
      const { stdout } = await run("bash", ["-ec", script.replaceAll("127.0.0.1:7433", `127.0.0.1:${t.server.port}`)], {
        env: { ...process.env, ...env },
      });
      if (answer === undefined) expect(stdout).not.toContain('"code"');
      else {
        const actual: unknown = JSON.parse(stdout);
        expect(actual).toEqual(filled(answer, actual));
        env["WORKER"] ??= (actual as { workerId?: string }).workerId ?? "";
        if (env["WORKER"] === "") delete env["WORKER"];
      }
    }
  });
});
