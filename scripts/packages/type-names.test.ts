import { expect, test } from "vitest";
import { findUnnameableTypes } from "./type-names.ts";

function check(files: Readonly<Record<string, string>>, entries = ["index.d.ts"]): string[] {
  return findUnnameableTypes({ files: Object.entries(files).map(([path, text]) => ({ path, text })), entries });
}

const HIDDEN = "mentions Hidden (a.d.ts), which no entry point exports";

test.each([
  ["a parameter", "export declare function open(options: Hidden): void;", "open"],
  ["a result", "export declare function open(): Promise<readonly Hidden[]>;", "open"],
  ["a property", "export interface View { readonly part?: Hidden | null }", "View"],
  ["a base", "export interface View extends Hidden {}", "View"],
  ["a base class", "declare class Hidden {}\nexport declare class View extends Hidden {}", "View"],
  ["an implemented interface", "export declare class View implements Hidden {}", "View"],
  ["a constraint", "export declare function open<T extends Hidden>(value: T): T;", "open"],
  ["a constant's type", "export declare const table: Record<string, Hidden>;", "table"],
  ["a constructor", "export declare class View { constructor(part: Hidden) }", "View"],
  ["an inline import", `export declare const part: import("./a.ts").Hidden;`, "part"],
])("%s that cannot be named is found", (_what, text, name) => {
  const hidden = text.includes("class Hidden") ? "" : "interface Hidden { readonly a: number }\n";
  expect(check({ "index.d.ts": `export { ${name} } from "./a.ts";`, "a.d.ts": hidden + text })).toEqual([
    `${name} ${HIDDEN}`,
  ]);
});

test("a type is followed through imports, namespaces and re-exports to where it is declared", () => {
  const files = {
    "index.d.ts": `export { open, read } from "./client/open.ts";`,
    "client/open.d.ts": `import type { Options as Given } from "../ports.ts";\nimport type * as port from "../ports.ts";
      export declare function open(options: Given): void;\nexport declare function read(row: port.Row): void;`,
    "ports.d.ts": `export type * from "./options.ts";\nexport interface Row {}`,
    "options.d.ts": "export interface Options {}",
  };
  expect(check(files)).toEqual([
    "open mentions Options (options.d.ts), which no entry point exports",
    "read mentions Row (ports.d.ts), which no entry point exports",
  ]);
  const entry = `${files["index.d.ts"]}\nexport type { Options, Row } from "./ports.ts";`;
  expect(check({ ...files, "index.d.ts": entry })).toEqual([]);
});

test("any entry point may export the type", () => {
  const files = {
    "index.d.ts": `export { open } from "./a.ts";`,
    "adapter.d.ts": `export type { Hidden } from "./a.ts";`,
    "a.d.ts": "export interface Hidden {}\nexport declare function open(options: Hidden): void;",
  };
  expect(check(files)).toEqual([`open ${HIDDEN}`]);
  expect(check(files, ["index.d.ts", "adapter.d.ts"])).toEqual([]);
});

test.each([
  [
    "globals and types of other packages",
    `import type { Pool } from "pg";\nexport declare function open(a: Pool, b: AbortSignal): Promise<void>;`,
  ],
  ["type parameters", "export declare function open<T>(value: T): T;"],
  ["what a constant is made of", "declare const KINDS: readonly [1];\nexport type open = (typeof KINDS)[number];"],
  ["private members", "interface Hidden {}\nexport declare class open { #private; private a; }"],
  ["a computation", "type Of<F> = F extends () => infer R ? R : never;\nexport type open<F> = Of<F>;"],
  ["a mapped computation", "type Of<F> = { [K in keyof F]: F[K] };\nexport type open<F> = Of<F>;"],
  [
    "a computed text",
    `type Fault<S extends string> = \`\${S} is wrong\`;\nexport type open<S extends string> = Fault<S>;`,
  ],
  ["what a condition compares", "type Hidden = 1 | 2;\nexport type open<F> = F extends Hidden ? F : never;"],
  [
    "computations that a condition compares",
    "type Of<F> = F extends string ? Hidden : 0;\ninterface Hidden {}\nexport type open<F> = Of<F> extends 0 ? F : never;",
  ],
  [
    "what a private computation accepts",
    'type Hidden = 1 | 2;\ntype Of<F extends Hidden> = { a: F }["a"];\nexport type open = Of<1>;',
  ],
  ["what is indexed", `interface Hidden { a: string }\ntype Of = Hidden["a"];\nexport interface open { b: Of }`],
])("%s need no name", (_what, text) => {
  expect(check({ "index.d.ts": `export { open } from "./a.ts";`, "a.d.ts": text })).toEqual([]);
});

test.each([
  ["a computation gives", "type Of<F> = F extends string ? Hidden : never;\nexport type open<F> = Of<F>;"],
  ["a mapped computation gives", "type Of<F> = { [K in keyof F]: Hidden };\nexport type open<F> = Of<F>;"],
  ["an indexed type has", `interface Parts { a: Hidden }\nexport interface open { b: Parts["a"] }`],
  [
    "an index, and a parameter besides, has",
    `interface Id { a: Hidden["a"] }\nexport type open = (a: Id["a"], b: Hidden) => 1;`,
  ],
  ["a public computation accepts", "export type open<F extends Hidden> = F extends 1 ? F : never;"],
  [
    "a computation gives that the file exports",
    "export type Hidden = { [K in 1]: K };\nexport type open = readonly Hidden[];",
  ],
])("what %s must have a name", (_what, text) => {
  const hidden = text.includes("type Hidden") ? "" : "interface Hidden { a: string }\n";
  expect(check({ "index.d.ts": `export { open } from "./a.ts";`, "a.d.ts": hidden + text })).toEqual([
    `open ${HIDDEN}`,
  ]);
});

test("a class that is exported as a type only is not constructed or extended by users", () => {
  const text = `interface Hidden {}\nexport declare class Client {
    constructor(core: Hidden); protected make(core: Hidden): void; static join(core: Hidden): void; }`;
  expect(check({ "index.d.ts": `export type { Client } from "./a.ts";`, "a.d.ts": text })).toEqual([]);
  expect(check({ "index.d.ts": `export { Client } from "./a.ts";`, "a.d.ts": text })).toEqual([`Client ${HIDDEN}`]);
});

test("an entry point must list its names", () => {
  expect(() => check({ "index.d.ts": `export * from "./a.ts";`, "a.d.ts": "export declare const a: 1;" })).toThrow(
    "index.d.ts exports all of a.d.ts; list the names",
  );
});
