import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build, type TransformOptions, transformSync } from "esbuild";
import { rolldown } from "rolldown";
import { afterAll, describe, expect, test } from "vitest";
import { fingerprintOf, hasChanged } from "../../src/engine/code/code-fingerprint.ts";
import { literalsOf } from "../../src/engine/code/code-literals.ts";
import { order } from "./order.ts";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../../../..");
// Inside the repository, so that what is compiled finds its packages.
mkdirSync(path.join(root, "dist"), { recursive: true });
const folder = mkdtempSync(path.join(root, "dist", "compiled-"));
afterAll(() => rmSync(folder, { recursive: true }));

const source = readFileSync(path.join(here, "order.ts"), "utf8");
// Compiled by vitest, as it is in a test that is run before a deployment.
const tested = fingerprintOf(order.fn);

/** The workflow function in what a tool has made of the module: `String(fn)`, without loading it. */
function functionIn(compiled: string): string {
  const begin = /\w\)?\(\s*["'`]order["'`],\s*/.exec(compiled);
  if (!begin) throw new Error(`no workflow in:\n${compiled}`);
  let depth = 0;
  const from = begin.index + begin[0].length;
  for (let at = from; at < compiled.length; at++) {
    if ("({[".includes(compiled[at] as string)) depth += 1;
    if (")}]".includes(compiled[at] as string)) depth -= 1;
    if (depth < 0) return compiled.slice(from, at);
  }
  throw new Error("the workflow has no end");
}

function tsc(...options: string[]): string {
  for (const name of ["order.ts", "pricing.ts"]) copyFileSync(path.join(here, name), path.join(folder, name));
  const common = [
    "--outDir",
    folder,
    "--rootDir",
    folder,
    "--noResolve",
    "--skipLibCheck",
    "--noCheck",
    "--rewriteRelativeImportExtensions",
  ];
  const script = path.join(root, "node_modules/typescript/bin/tsc");
  const files = [path.join(folder, "order.ts")];
  const { stdout, status } = spawnSync(process.execPath, [script, ...common, ...options, "--ignoreConfig", ...files]);
  expect(status, String(stdout)).toBe(0);
  return readFileSync(path.join(folder, "order.js"), "utf8");
}

function esbuild(options: TransformOptions): string {
  return transformSync(source, { loader: "ts", format: "esm", ...options }).code;
}

async function esbuildBundle(minify: boolean): Promise<string> {
  const result = await build({
    entryPoints: [path.join(here, "order.ts")],
    bundle: true,
    write: false,
    format: "cjs",
    platform: "node",
    packages: "external",
    minifyWhitespace: minify,
    minifyIdentifiers: minify,
  });
  return result.outputFiles[0]?.text as string;
}

async function rolldownBundle(minify: boolean): Promise<string> {
  const bundle = await rolldown({ input: path.join(here, "order.ts"), external: ["holdfast"] });
  const { output } = await bundle.generate({ format: "esm", minify });
  return output[0].code;
}

/** What a program says of itself that a tool runs without compiling it first. */
function tsx(): string {
  const program = path.join(folder, "print.ts");
  const fixture = JSON.stringify(path.join(here, "order.ts"));
  writeFileSync(program, `import { order } from ${fixture};\nconsole.log(String(order.fn));\n`);
  const args = ["--conditions=holdfast-source", "--import", "tsx", program];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout;
}

describe("the same source is the same code", () => {
  test.each<[string, () => string | Promise<string>]>([
    ["tsc to an ES module", () => functionIn(tsc("--module", "esnext", "--target", "es2022"))],
    [
      "tsc to CommonJS, without comments",
      () => functionIn(tsc("--module", "commonjs", "--target", "esnext", "--removeComments")),
    ],
    ["tsc to an older language", () => functionIn(tsc("--module", "commonjs", "--target", "es2018"))],
    ["tsx", tsx],
    ["esbuild", () => functionIn(esbuild({ target: "es2022" }))],
    ["esbuild, with the names of functions kept", () => functionIn(esbuild({ target: "esnext", keepNames: true }))],
    ["esbuild, without white space", () => functionIn(esbuild({ minifyWhitespace: true }))],
    ["esbuild, minified", () => functionIn(esbuild({ minify: true }))],
    ["esbuild to a bundle", async () => functionIn(await esbuildBundle(false))],
    ["esbuild to a bundle, with short names", async () => functionIn(await esbuildBundle(true))],
    ["rolldown to a bundle", async () => functionIn(await rolldownBundle(false))],
    ["rolldown to a bundle, minified", async () => functionIn(await rolldownBundle(true))],
    [
      "nothing but other quotes, blanks, semicolons and comments",
      () => String(order.fn).replaceAll(";\n", "\n\n// it's\n"),
    ],
  ])("whether vitest or %s has compiled it", async (_title, compile) => {
    const compiled = await compile();
    expect(literalsOf(compiled).ops).toHaveLength(6);
    const other = fingerprintOf(compiled);
    expect([hasChanged(tested, other), hasChanged(other, tested)], compiled).toEqual([false, false]);
  });
});

describe("other code is noticed", () => {
  const text = String(order.fn);
  test.each<[string, string]>([
    ["a step under another name", text.replace("charge", "charge-card")],
    ["one step more", text.replace("return {", 'await ctx.step("log", () => 1);\nreturn {')],
    ["one step less", text.replace(/await ctx.sleep\("long-nap", "1 day"\)/, "void 0")],
    ["another kind of op", text.replace('ctx.sleep("short-nap"', 'ctx.sleepUntil("short-nap"')],
    ["another duration", text.replace("3 days", "4 days")],
    ["another message", text.replace("not approved", "declined")],
  ])("%s", (_title, changed) => {
    expect(changed).not.toBe(text);
    expect(hasChanged(tested, fingerprintOf(changed))).toBe(true);
  });
});

test("literals are read through templates, regular expressions, divisions and escapes", () => {
  const code =
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
    'async (c) => { const r = /[/"]\'/g, q = a / b / "deep"; `x${`y${"z"}`}w`; return { "k": o["p"], t: "\\u00fc\\n" } }';
  expect(literalsOf(code)).toEqual({ ops: [], texts: ["deep", "x", "y", "z", "w", "ü\n"] });
});

test("a fingerprint of another kind says nothing", () => {
  expect(hasChanged("0123456789abcdef0123456789abcdef", tested)).toBe(false);
});
