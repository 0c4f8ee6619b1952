import { describe, expect, test } from "vitest";
import { checkImportDirections } from "./import-directions.ts";

const CORE = "packages/holdfast/src";

function check(path: string, text: string): string[] {
  return checkImportDirections({ path, text }).map(({ line, message }) => `${line}: ${message}`);
}

describe("inside the core", () => {
  test.each([
    ["model/run.ts", `import { a } from "./event.ts";`],
    ["model/ids.ts", `import { hash } from "node:crypto";`],
    ["errors/registry.ts", `import type { Run } from "../model/run.ts";`],
    ["codec/json-codec.ts", `import { Codec } from "../ports/codec.ts";`],
    ["replay/context.ts", `import { hash, type Hash } from "node:crypto";\nexport * from "../codec/json-codec.ts";`],
    [
      "engine/worker.ts",
      `import { workflow } from "../define/workflow.ts";\nimport { AsyncResource } from "node:async_hooks";`,
    ],
    ["client/client.ts", `import { Worker } from "../engine/worker/worker.ts";`],
    ["client/client.ts", `import { Lifetime } from "../calls/lifetime.ts";`],
    [
      "client/connect.ts",
      `import { MemoryStore } from "../memory/memory-store.ts";\nawait import("@holdfast/sqlite");`,
    ],
    ["define/workflow.ts", `import type { StandardSchemaV1 } from "@standard-schema/spec";`],
    ["memory/memory-store.ts", `import { StoreError } from "../errors/store-error.ts";`],
    ["testing/test-engine.ts", `import { connect } from "../index.ts";\nimport { Worker } from "../engine/worker.ts";`],
    ["index.ts", `export { connect } from "./client/connect.ts";`],
    ["engine/worker.test.ts", `import { MemoryStore } from "../memory/memory-store.ts";\nimport fc from "fast-check";`],
  ])("%s may hold %j", (file, text) => {
    expect(check(`${CORE}/${file}`, text)).toEqual([]);
  });

  test.each([
    ["model/run.ts", `import { a } from "../errors/registry.ts";`, "model must not import errors"],
    ["model/run.ts", `import type { A } from "../ports/store.ts";`, "model must not import ports"],
    ["model/run.ts", `type A = import("../ports/store.ts").A;`, "model must not import ports"],
    ["model/run.ts", `export * from "../ports/store.ts";`, "model must not import ports"],
    ["model/run.ts", `import "../ports/store.ts";`, "model must not import ports"],
    ["model/ids.ts", `import { readFileSync } from "node:fs";`, `must not import "node:fs"`],
    ["model/ids.ts", `import { hash, randomUUID } from "node:crypto";`, "not randomUUID"],
    ["replay/context.ts", `import * as crypto from "node:crypto";`, "not *"],
    ["replay/context.ts", `import type { W } from "../define/workflow.ts";`, "replay must not import define"],
    ["replay/context.ts", `import { a } from "../engine/worker.ts";`, "replay must not import engine"],
    ["replay/context.ts", `const a = await import("../engine/worker.ts");`, "replay must not import engine"],
    ["define/workflow.ts", `import { a } from "../engine/worker.ts";`, "define must not import engine"],
    ["engine/worker.ts", `import { a } from "../client/client.ts";`, "engine must not import client"],
    ["engine/worker.ts", `import { a } from "../memory/memory-store.ts";`, "engine must not import memory"],
    ["engine/worker.ts", `import { a } from "../testing/test-engine.ts";`, "engine must not import testing"],
    [
      "client/client.ts",
      `import { a } from "../engine/claim/slots.ts";`,
      "must not import the engine but engine/worker",
    ],
    ["calls/batcher.ts", `import { a } from "../engine/worker/worker.ts";`, "calls must not import engine"],
    ["client/client.ts", `import { a } from "../memory/memory-store.ts";`, "client must not import memory"],
    ["client/client.ts", `import { a } from "../index.ts";`, "client must not import index.ts"],
    ["memory/memory-store.ts", `import { a } from "../codec/json-codec.ts";`, "memory must not import codec"],
    ["index.ts", `export * from "./testing/index.ts";`, "index.ts must not import testing"],
    ["client/connect.ts", `import { open } from "@holdfast/sqlite";`, "must not import the sqlite adapter"],
    ["client/connect.test.ts", `import { open } from "holdfast-postgres";`, "must not import the postgres adapter"],
    ["client/connect.ts", `import { open } from "../../../sqlite/src/index.ts";`, "leaves packages/holdfast"],
    ["engine/worker.ts", `import pino from "pino";`, `no dependency on "pino"`],
    ["engine/worker.ts", `import { connect } from "holdfast";`, "is the package itself"],
    ["shared/clock.ts", "export const a = 1;", "shared is not a layer"],
  ])("%s must not hold %j", (file, text, message) => {
    expect(check(`${CORE}/${file}`, text)).toEqual([expect.stringContaining(message)]);
  });

  test("a finding names the line of the import", () => {
    const text = `// 😀 characters outside the basic plane do not shift lines\n\nimport { a } from "../client/client.ts";`;
    expect(check(`${CORE}/engine/worker.ts`, text)).toEqual([expect.stringMatching(/^3: /)]);
  });
});

describe("in an adapter", () => {
  test.each([
    ["packages/sqlite/src/database/driver.ts", `await import("@holdfast/sqlite-node20");`],
    ["packages/sqlite-node20/index.js", `export { DatabaseSync } from "@photostructure/sqlite";`],
    ["packages/postgres/src/store.ts", `import pg from "pg";\nimport type { Store } from "holdfast/adapter";`],
    ["packages/postgres/src/store.test.ts", `import { storeSuite } from "holdfast/testing";`],
    [
      "packages/postgres/test/store.test.ts",
      `import { store } from "../src/store.ts";\nimport { connect } from "holdfast";`,
    ],
    ["packages/postgres/test/faults/outage.test.ts", `import { a } from "../../../../scripts/test-servers.mjs";`],
  ])("%s may hold %j", (file, text) => {
    expect(check(file, text)).toEqual([]);
  });

  test.each([
    [
      "packages/postgres/src/database/pool.ts",
      `import { a } from "../../../scripts/test-servers.mjs";`,
      "leaves packages/postgres",
    ],
    ["packages/sqlite/src/store.ts", `import { a } from "@holdfast/postgres";`, "another adapter"],
    ["packages/sqlite/src/store.test.ts", `import { a } from "@holdfast/postgres";`, "another adapter"],
    ["packages/sqlite/src/store.ts", `import { a } from "../../postgres/src/sql.ts";`, "leaves packages/sqlite"],
    ["packages/sqlite/src/store.ts", `import { a } from "holdfast";`, `through "holdfast/adapter"`],
    ["packages/sqlite/src/store.ts", `import { a } from "holdfast/testing";`, "is for tests"],
    ["packages/sqlite/src/store.ts", `import pg from "pg";`, "is not a driver of sqlite"],
    ["packages/sqlite/src/store.ts", `import { a } from "@photostructure/sqlite";`, "is not a driver of sqlite"],
  ])("%s must not hold %j", (file, text, message) => {
    expect(check(file, text)).toEqual([expect.stringContaining(message)]);
  });
});

describe("in the dashboard", () => {
  test.each([
    ["packages/dashboard/src/reads/runs.ts", `import { storeOf } from "holdfast/adapter";\nimport "node:zlib";`],
    ["packages/dashboard/ui/api/api-client.ts", `import type { A } from "../../src/api/api-messages.ts";`],
    ["packages/dashboard/ui/pages/runs/filter.ts", `import { parseFilter } from "../../../src/filter/filter-text.ts";`],
  ])("%s may hold %j", (file, text) => {
    expect(check(file, text)).toEqual([]);
  });

  test.each([
    ["packages/dashboard/src/reads/runs.ts", `import { useState } from "react";`, "has no dependencies"],
    ["packages/dashboard/src/serve/node-handler.ts", `import { a } from "@holdfast/server";`, "has no dependencies"],
    ["packages/dashboard/src/dashboard.ts", `import { a } from "../ui/main.tsx";`, "must not import its pages"],
    ["packages/dashboard/ui/main.tsx", `import { a } from "../src/dashboard.ts";`, "run in the browser"],
  ])("%s must not hold %j", (file, text, message) => {
    expect(check(file, text)).toEqual([expect.stringContaining(message)]);
  });
});

describe("in the conformance suites", () => {
  test.each([
    `import type { Store } from "holdfast/adapter";`,
    `import { MemoryStore } from "holdfast/testing";\nimport { expect } from "vitest";\nimport { a } from "./a.ts";`,
  ])("%j may stand", (text) => {
    expect(check("packages/conformance/src/fixture.ts", text)).toEqual([]);
    expect(check("packages/conformance/test/memory.test.ts", text)).toEqual([]);
  });

  test.each([
    `import { open } from "@holdfast/sqlite";`,
    `import { connect } from "holdfast";`,
    `import pg from "pg";`,
    `import { readFileSync } from "node:fs";`,
  ])("%j must not stand", (text) => {
    expect(check("packages/conformance/src/fixture.ts", text)).toEqual([expect.stringContaining("may import only")]);
  });

  test("those of the client see what users see", () => {
    const text = `import { connect } from "holdfast";`;
    expect(check("packages/conformance/src/client/closing.ts", text)).toEqual([]);
    expect(check("packages/conformance/src/client/closing.ts", `import pg from "pg";`)).toEqual([
      expect.stringContaining("may import only"),
    ]);
  });

  test("an adapter's tests load them, its sources do not", () => {
    const text = `import { storeConformance } from "@holdfast/conformance";`;
    expect(check("packages/sqlite/test/conformance.test.ts", text)).toEqual([]);
    expect(check("packages/sqlite/src/store.ts", text)).toEqual([expect.stringContaining("is not a driver")]);
  });
});
