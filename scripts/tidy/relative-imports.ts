// Every relative import ends in .ts: the sources run as they are, and the compiler rewrites the extension in the build.
// Generated code is an exception: it is JavaScript with declarations. The .mjs files directly in scripts are another, because they run before anything is installed.
import path from "node:path";
import { type Finding, parseSource, type Source } from "./source.ts";

/** Vite bundles these, with their styles. */
const PAGES = "packages/dashboard/ui/";

export function checkRelativeImports(source: Source): Finding[] {
  if (!/\.(?:ts|tsx)$/.test(source.path)) return [];
  return parseSource(source)
    .imports.filter(({ specifier }) => /^\.{1,2}(?:\/|$)/.test(specifier) && !/\.(?:ts|tsx|json)$/.test(specifier))
    .filter(({ specifier }) => !/^\.\.\/gen\/.*_pb\.js$/.test(specifier))
    .filter(({ specifier }) => !(source.path.startsWith(PAGES) && specifier.endsWith(".css")))
    .filter(({ specifier }) => !isScript(path.posix.join(path.posix.dirname(source.path), specifier)))
    .map(({ specifier, line }) => ({
      path: source.path,
      line,
      message: `the relative import "${specifier}" must name the source file, ending in .ts`,
    }));
}

function isScript(target: string): boolean {
  return /^scripts\/[^/]+\.mjs$/.test(target);
}
