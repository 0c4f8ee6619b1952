import { mkdtempSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { contextsFile, readContexts, writeContexts } from "./contexts.ts";
import { findTarget, shownUrl, sqliteFile } from "./target.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-contexts-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const none = { url: undefined, namespace: undefined, token: undefined, context: undefined };
const env = (more: Record<string, string> = {}) => ({ env: { HOLDFAST_CONFIG_DIR: folder, ...more } });

test("a flag comes before the environment, that before a context, and that before the server on this machine", () => {
  expect(findTarget(none, env())).toMatchObject({ url: "http://127.0.0.1:7433", from: "default" });
  writeContexts(env(), {
    current: "prod",
    contexts: { prod: { url: "https://prod", namespace: "shop", token: "t" }, test: { url: "file:/t.db" } },
  });
  expect(findTarget(none, env())).toEqual({ url: "https://prod", namespace: "shop", token: "t", from: "context" });
  const environment = env({ HOLDFAST_URL: "https://env", HOLDFAST_NAMESPACE: "n", HOLDFAST_TOKEN: "e" });
  expect(findTarget(none, environment)).toEqual({
    url: "https://env",
    namespace: "n",
    token: "e",
    from: "environment",
  });
  const flags = { ...none, url: "file:a.db", namespace: "f" };
  expect(findTarget(flags, environment)).toEqual({ url: "file:a.db", namespace: "f", token: "e", from: "flag" });
  expect(findTarget({ ...none, context: "test" }, environment)).toMatchObject({ url: "file:/t.db", from: "flag" });
});

test("the token and the namespace of a context never go to another URL", () => {
  writeContexts(env(), {
    current: "prod",
    contexts: { prod: { url: "https://prod", namespace: "shop", token: "secret" } },
  });
  expect(findTarget({ ...none, url: "https://elsewhere" }, env())).toMatchObject({
    token: undefined,
    namespace: undefined,
  });
});

test("an unknown context is named with those that there are", () => {
  writeContexts(env(), { current: null, contexts: { prod: { url: "https://prod" } } });
  expect(() => findTarget({ ...none, context: "prd" }, env())).toThrow('There is no context "prd". There are: prod.');
});

test("only the owner can read the file of the contexts", () => {
  writeContexts(env(), { current: null, contexts: {} });
  writeContexts(env(), { current: "a", contexts: { a: { url: "memory:" } } });
  expect(statSync(contextsFile(env())).mode & 0o777).toBe(0o600);
  expect(readContexts(env())).toEqual({ current: "a", contexts: { a: { url: "memory:" } } });
});

test("URLs are shown without their password", () => {
  expect(shownUrl("postgres://ann:pass@db/app")).toBe("postgres://ann:***@db/app");
  expect(shownUrl("postgres://db/app?user=ann&password=pass")).toBe("postgres://db/app?user=ann&password=***");
  expect(shownUrl("file:app.db")).toBe("file:app.db");
});

test("the file of a SQLite URL is found, relative to the folder", () => {
  expect(sqliteFile("file:app.db", "/srv")).toBe("/srv/app.db");
  expect(sqliteFile("file:///var/my%20app.db", "/srv")).toBe("/var/my app.db");
  expect(sqliteFile("file:my%20app.db", "/srv")).toBe("/srv/my%20app.db");
  expect(sqliteFile("file:app.db?mode=ro", "/srv")).toBeUndefined();
  expect(sqliteFile("postgres://db/app", "/srv")).toBeUndefined();
});
