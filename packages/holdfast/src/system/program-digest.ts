import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Enough for the code of any program; the rest is ignored. */
const FILES_MAX = 2_000;
/** The file names that an import of this name may resolve to. */
const ENDINGS = ["", ".ts", ".tsx", ".mts", ".js", ".mjs", ".cjs", "/index.ts", "/index.js"];
const IMPORTED = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*["'](\.{1,2}\/[^"'\n]+)["']/g;

/**
 * A digest of a file, of everything that it imports by a relative path, and of the nearest package.json: what a deployment
 * changes. Only contents count, so that it does not depend on where the program is installed. Undefined if the file cannot
 * be read.
 */
export function digestOfProgram(file: string): string | undefined {
  const hash = createHash("sha256");
  const seen = new Set<string>([file]);
  for (const path of seen) {
    const text = textOf(path);
    if (text === undefined && path === file) return undefined;
    if (text === undefined) continue;
    hash.update(text).update("\0");
    for (const [, name] of text.matchAll(IMPORTED)) {
      const imported = resolved(dirname(path), name as string, seen);
      if (imported !== undefined && seen.size < FILES_MAX) seen.add(imported);
    }
  }
  hash.update(packageText(dirname(file)) ?? "");
  return hash.digest("hex");
}

function resolved(folder: string, name: string, seen: ReadonlySet<string>): string | undefined {
  const path = join(folder, name);
  // TypeScript imports name the file that a module will be compiled to.
  const candidates = [path, path.replace(/\.([mc]?)js$/, ".$1ts"), ...ENDINGS.map((ending) => path + ending)];
  return candidates.find((candidate) => seen.has(candidate) || textOf(candidate) !== undefined);
}

function packageText(folder: string): string | undefined {
  const text = textOf(join(folder, "package.json"));
  const parent = dirname(folder);
  return text ?? (parent === folder ? undefined : packageText(parent));
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // missing, a folder, or not readable
  }
}
