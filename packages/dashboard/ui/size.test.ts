// What a browser has to load, compressed: the budgets of the dashboard.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { builtPages } from "./browser/built-pages.ts";

interface Entry {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
  readonly isDynamicEntry?: boolean;
}

const FIRST_MAX = 200_000;
const ROUTE_MAX = 60_000;
const ALL_MAX = 450_000;

let folder: string;
let manifest: Readonly<Record<string, Entry>>;
const sizes = new Map<string, number>();

beforeAll(async () => {
  folder = await builtPages();
  manifest = JSON.parse(readFileSync(path.join(folder, ".vite", "manifest.json"), "utf8")) as typeof manifest;
  for (const name of readdirSync(path.join(folder, "assets"))) {
    if (!name.endsWith(".map"))
      sizes.set(`assets/${name}`, gzipSync(readFileSync(path.join(folder, "assets", name))).length);
  }
}, 120_000);

/** The files of an entry and of everything that it imports at once. */
function filesOf(key: string, seen = new Set<string>()): Set<string> {
  const entry = manifest[key];
  if (entry === undefined || seen.has(entry.file)) return seen;
  seen.add(entry.file);
  for (const file of entry.css ?? []) seen.add(file);
  for (const imported of entry.imports ?? []) filesOf(imported, seen);
  return seen;
}

function sum(files: Iterable<string>): number {
  return [...files].reduce((total, file) => total + (sizes.get(file) ?? 0), 0);
}

test("the first page, whichever it is, is at most 200 kB", () => {
  const shell = filesOf("index.html");
  for (const [key, entry] of Object.entries(manifest)) {
    // Dialogs and the like are loaded when somebody opens one; that is no first page.
    if (!entry.isDynamicEntry || !key.endsWith("-page.tsx")) continue;
    expect(sum(new Set([...shell, ...filesOf(key)])), key).toBeLessThanOrEqual(FIRST_MAX);
  }
});

test("a further page is at most 60 kB", () => {
  const shell = filesOf("index.html");
  for (const [key, entry] of Object.entries(manifest)) {
    if (!entry.isDynamicEntry) continue;
    expect(sum([...filesOf(key)].filter((file) => !shell.has(file))), key).toBeLessThanOrEqual(ROUTE_MAX);
  }
});

test("the licenses of what is bundled are published with it", () => {
  const notices = readFileSync(path.join(folder, "third-party-notices.txt"), "utf8");
  for (const name of ["react", "react-dom", "@tanstack/react-router", "@tanstack/react-query", "@base-ui/react"])
    expect(notices).toContain(name);
  expect(notices).toContain("Permission is hereby granted, free of charge");
});

test("all of it is at most 450 kB, and no map of the sources is published", () => {
  expect(sum(sizes.keys())).toBeLessThanOrEqual(ALL_MAX);
  expect(existsSync(path.join(folder, "assets"))).toBe(true);
  expect(readdirSync(path.join(folder, "assets")).filter((name) => name.endsWith(".map"))).toEqual([]);
});
