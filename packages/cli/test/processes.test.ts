// The command as a program: pipes, a pseudo-terminal, signals, files that change.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { connect, silentLogger } from "holdfast";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ChildCommand, runChild } from "./child-command.ts";
import { bin, newFolder, nodeArgs, run, sampleCode } from "./command-under-test.ts";
import { order } from "./sample-code.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const version = JSON.parse(readFileSync(path.join(root, "packages/cli/package.json"), "utf8")).version as string;
const folder = newFolder();
const url = `file:${path.join(folder, "app.db")}`;
const children: ChildCommand[] = [];

const start = (...args: ConstructorParameters<typeof ChildCommand>): ChildCommand => {
  const child = new ChildCommand(...args);
  children.push(child);
  return child;
};

beforeAll(async () => {
  const hf = await connect(url, { logger: silentLogger });
  for (let n = 0; n < 30; n += 1)
    await hf.start(order, { cents: n }, { id: `order-${n}-of-a-customer-with-a-long-name` });
  await hf.close();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the version is printed", async () => {
  expect(await runChild(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
});

test("a reader that has seen enough ends the command quietly", async () => {
  const command = [process.execPath, ...nodeArgs, bin, "--url", url, "workflow", "list", "--json"].map(
    (word) => `'${word}'`,
  );
  const shell = spawn("sh", ["-c", `${command.join(" ")} | head -n 1`], { stdio: ["ignore", "pipe", "pipe"] });
  const texts = { out: "", err: "" };
  shell.stdout.on("data", (text) => (texts.out += text));
  shell.stderr.on("data", (text) => (texts.err += text));
  await new Promise((resolve) => shell.once("close", resolve));
  expect(texts.err).toBe("");
  expect(JSON.parse(texts.out)).toMatchObject({ workflow: "order" });
});

test("npx holdfast says how to install the command line where it is not", () => {
  const elsewhere = newFolder();
  cpSync(path.join(root, "packages/holdfast/bin/holdfast.js"), path.join(elsewhere, "holdfast.mjs"));
  const { status, stderr } = spawnSync(process.execPath, ["holdfast.mjs", "--version"], {
    cwd: elsewhere,
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([2, expect.stringContaining("npm install --save-dev @holdfast/cli")]);
  rmSync(elsewhere, { recursive: true, force: true });
});

// skip: the pseudo-terminal is made by script of util-linux, which other systems do not have
describe.skipIf(process.platform !== "linux")("on a pseudo-terminal", () => {
  test("a table has colors and fits", async () => {
    const { code, out } = await runChild(["--url", url, "workflow", "list"], { terminal: 60 });
    expect(code).toBe(0);
    expect(out).toContain("\u001b[");
    const lines = out.replace(/\u001b\[[\d;]*m/g, "").split("\r\n");
    expect(lines.find((line) => line.startsWith("ord"))).toMatch(/^ord.*….* order +pending/);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
  });

  test("NO_COLOR is respected", async () => {
    const { out } = await runChild(["--url", url, "workflow", "list"], { terminal: 100, env: { NO_COLOR: "1" } });
    expect(out).not.toContain("\u001b[");
  });

  test("many runs are acted on after a yes, and not after a no", async () => {
    const argv = ["--url", url, "workflow", "terminate", "--workflow", "order", "--attribute", "none=1"];
    const nobody = await runChild(argv, { terminal: 80 });
    expect(nobody).toMatchObject({ code: 0, out: expect.stringContaining("done for 0 runs") });
    const no = start(["--url", url, "workflow", "terminate", "--workflow", "order"], { terminal: 80 });
    await no.wrote("30 runs will be terminated, without cleanup. Go on? (y/N)");
    no.type("n\r");
    expect(await no.ended).toBe(0);
    expect(no.out).toContain("Nothing was changed.");
    const yes = start(["--url", url, "workflow", "pause", "--id-is", "order-0-of-a-customer-with-a-long-name"], {
      terminal: 80,
    });
    await yes.wrote("1 run will be paused.");
    yes.type("y\r");
    expect(await yes.ended).toBe(0);
    expect(yes.out).toContain("done for 1 run");
  });

  test("Ctrl-C at a question changes nothing and is exit code 130", async () => {
    const child = start(["--url", url, "workflow", "terminate", "--workflow", "order"], { terminal: 80 });
    await child.wrote("Go on? (y/N)");
    child.type("\u0003");
    expect(await child.ended).toBe(130);
    expect((await run(["--url", url, "--json", "workflow", "count", "--status", "terminated"])).records).toEqual([
      { count: 0 },
    ]);
  });

  test("watch draws a timeline until Ctrl-C", async () => {
    const child = start(["--url", url, "workflow", "watch", "order-1-of-a-customer-with-a-long-name"], {
      terminal: 90,
    });
    await child.wrote("no ops yet");
    child.type("\u0003");
    expect(await child.ended).toBe(130);
    // The cursor is shown again.
    expect(child.out).toContain("\u001b[?25h");
  });
});

test("a worker executes what a file exports, and drains when it is told to stop", async () => {
  const child = start(["--url", url, "--json", "worker", sampleCode]);
  await child.wrote('"event":"started"');
  const id = "order-2-of-a-customer-with-a-long-name";
  const { code } = await run(["--url", url, "--json", "workflow", "signal", id, "approve", "--input", '{"by":"ann"}']);
  expect(code).toBe(0);
  expect((await run(["--url", url, "workflow", "result", id])).out).toBe('{"payment":"payment of 2","by":"ann"}\n');
  child.process.kill("SIGINT");
  expect(await child.ended).toBe(0);
  const [first, last] = child.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(first).toMatchObject({ workflows: expect.arrayContaining(["order", "double"]), tasks: ["send-mail"] });
  expect(last).toMatchObject({ event: "stopped" });
});

test("dev reloads code that changes, and keeps the old code while the new cannot be loaded", {
  timeout: 60_000,
}, async () => {
  const project = newFolder();
  symlinkSync(path.join(root, "node_modules"), path.join(project, "node_modules"));
  writeFileSync(path.join(project, "package.json"), '{"type":"module"}');
  const write = (text: string): void => writeFileSync(path.join(project, "answer.ts"), text);
  write("export const answer: number = 1;\n");
  writeFileSync(
    path.join(project, "app.ts"),
    'import { workflow } from "holdfast";\nimport { answer } from "./answer.ts";\nexport const ask = workflow("ask", async () => answer);\n',
  );
  const child = start(["--json", "dev", "app.ts", "--port", "0"], { cwd: project });
  await child.wrote('"event":"ready"');
  const ask = async (): Promise<string> => {
    const argv = ["--url", "file:.holdfast/dev.db", "workflow", "start", "ask", "--wait", "--timeout", "10s"];
    return (await run(argv, { cwd: project, env: {} })).out;
  };
  const inProject = process.cwd();
  process.chdir(project);
  try {
    expect(await ask()).toBe("1\n");
    write("export const answer: number = 2;\n");
    await child.wrote('"event":"reloaded"');
    expect(await ask()).toBe("2\n");
    write("export const answer: number = ;\n");
    await child.wrote('"event":"not_loaded"');
    expect(child.out).toContain("answer.ts");
    expect(await ask()).toBe("2\n");
  } finally {
    process.chdir(inProject);
  }
  child.process.kill("SIGINT");
  expect(await child.ended).toBe(0);
  expect(child.out).toContain('"event":"stopped"');
  expect(existsSync(path.join(project, ".holdfast", ".gitignore"))).toBe(true);
  rmSync(project, { recursive: true, force: true });
});
