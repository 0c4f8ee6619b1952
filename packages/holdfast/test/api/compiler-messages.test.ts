import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const HEAD = `import { type Client, signal, update, workflow } from "holdfast";
declare const hf: Client;
const order = workflow("order", async (_ctx, input: { id: string; cents: number }) => input.cents);
const simple = workflow("simple", async () => "done");
`;

/** What the compiler prints about a program with these lines, which have a client and two workflows. */
function compilerSays(lines: readonly string[]): string {
  // Inside the repository, so that what is compiled finds its packages.
  mkdirSync(path.join(root, "dist"), { recursive: true });
  const folder = mkdtempSync(path.join(root, "dist", "messages-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = { extends: path.join(root, "tsconfig.check.json"), files: ["program.ts"], include: [], exclude: [] };
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(config));
  writeFileSync(path.join(folder, "program.ts"), `${HEAD}${lines.join("\n")}\nexport {};\n`);
  writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
  const tsc = fileURLToPath(new URL("node_modules/typescript/bin/tsc", pathToFileURL(root)));
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty"], { encoding: "utf8" });
  return stripVTControlCharacters(stdout);
}

const NOT_PROVIDED =
  /Expected 2-3 arguments, but got 1\.[\s\S]*?the rest parameter 'inputAndOptions' were not provided/;
const MISTAKES: [line: string, says: RegExp][] = [
  ["void hf.start(order);", NOT_PROVIDED],
  ["void hf.run(order);", NOT_PROVIDED],
  ['void hf.start(order, { id: "o" });', /TS2741: Property 'cents' is missing in type '{ id: string; }'/],
  ['void hf.start(simple, { id: "o" });', /'{ id: string; }' is not assignable to parameter of type 'undefined'/],
];

test("the compiler says of a start that the input is missing or wrong, and nothing about other ways to start", () => {
  const fine = [
    'void hf.run(order, { id: "o", cents: 1 }, { delay: "1 day" }).then((cents: number) => cents);',
    'void hf.start("order", 5, { id: "o" }).then((run) => run.result()).then((value: unknown) => value);',
  ];
  const said = compilerSays([...MISTAKES.map(([line]) => line), ...fine]);
  const errors = said.split(/(?=^\S*program\.ts:\d+:\d+ - error)/m);
  expect(errors).toHaveLength(MISTAKES.length);
  MISTAKES.forEach(([line, says], i) => {
    expect(errors[i]).toContain(line);
    expect(errors[i]).toMatch(says);
  });
  expect(said).not.toMatch(/overload matches|type 'string'\./);
});

test("the compiler says of a signal or an update that the workflow does not offer it, with what it offers", () => {
  const head = [
    'const approve = signal<{ by: string }>("approve");',
    'const count = signal<number>("count");',
    'const add = update<string, number>("add");',
    'const cart = workflow({ name: "cart", signals: [approve], updates: [] }, async () => "done");',
    'const run = hf.get(cart, "c");',
  ];
  const mistakes: [line: string, says: RegExp][] = [
    [
      "void run.signal(count, 1);",
      /'SignalDefinition<number, number>' is not assignable to parameter of type [^\n]*SignalDefinition<{ by: string; }/,
    ],
    ['void run.update(add, "x");', /this workflow offers none: its list is empty/],
  ];
  const said = compilerSays([...head, ...mistakes.map(([line]) => line)]);
  const errors = said.split(/(?=^\S*program\.ts:\d+:\d+ - error)/m);
  expect(errors).toHaveLength(mistakes.length);
  mistakes.forEach(([line, says], i) => {
    expect(errors[i]).toContain(line);
    expect(errors[i]).toMatch(says);
  });
});
