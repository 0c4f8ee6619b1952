// No file imports itself through other files. Type-only imports count too: files that depend on each other's types cannot
// be understood, moved or tested separately. Checks the core and the adapters; across packages the manifests prevent cycles.
import path from "node:path";
import { type Finding, isCodeFile, isTestFile, parseSource, type Source } from "./source.ts";

const WATCHED = /^packages\/(?!conformance\/)[^/]+\/src\//;

export function checkImportCycles(sources: readonly Source[]): Finding[] {
  const graph = new Map<string, readonly string[]>();
  const watched = sources.filter(({ path: file }) => WATCHED.test(file) && isCodeFile(file) && !isTestFile(file));
  const known = new Set(watched.map((source) => source.path));
  for (const source of watched) graph.set(source.path, importedFiles(source, known));
  return [...graph.keys()].flatMap((file) => {
    const cycle = shortestCycle(graph, file);
    // Each cycle is reported once, at the first of its files.
    if (!cycle || cycle.some((other) => other < file)) return [];
    const way = [...cycle, file].map((other) => path.posix.basename(other)).join(" → ");
    return [{ path: file, line: 1, message: `imports itself: ${way}; move what both need down, or pass it in` }];
  });
}

function importedFiles(source: Source, known: ReadonlySet<string>): string[] {
  const folder = path.posix.dirname(source.path);
  const files = parseSource(source)
    .imports.filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier }) => path.posix.join(folder, specifier));
  return [...new Set(files)].filter((file) => known.has(file));
}

/** From the file back to it, the file first and not repeated; undefined if there is no path. */
function shortestCycle(graph: ReadonlyMap<string, readonly string[]>, file: string): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [file];
  for (let from = queue.shift(); from !== undefined; from = queue.shift()) {
    for (const to of graph.get(from) ?? []) {
      if (to === file) return wayTo(from, cameFrom);
      if (cameFrom.has(to)) continue;
      cameFrom.set(to, from);
      queue.push(to);
    }
  }
  return undefined;
}

function wayTo(file: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const before = cameFrom.get(file);
  return before === undefined ? [file] : [...wayTo(before, cameFrom), file];
}
