import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** A change at one place in one file. */
export interface Replacement {
  /** Under packages/holdfast/src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** The text with the one place replaced; it is an error if the pattern is found nowhere, or more than once. */
export function replaceOnce(text: string, { file, find, replace }: Replacement): string {
  const places = text.split(find).length - 1;
  if (places !== 1) throw new Error(`${file}: the text to replace occurs ${places} times, not once:\n${find}`);
  return text.replace(find, () => replace);
}

/** Bundles the simulator and the engine into one file, with an optional change to the engine. Returns its path. */
export async function bundleSimulator(folder: string, replacement?: Replacement): Promise<string> {
  const outfile = path.join(folder, "simulator.mjs");
  let applied = 0;
  const oneChange = (changed: Replacement): Plugin => ({
    name: "one-change",
    setup({ onLoad }) {
      const place = path.join(ROOT, "packages/holdfast/src", changed.file);
      onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
        if (file !== place) return undefined;
        applied += 1;
        return { contents: replaceOnce(readFileSync(file, "utf8"), changed), loader: "ts" };
      });
    },
  });
  await build({
    entryPoints: [path.join(ROOT, "simulator/main.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["holdfast-source"],
    keepNames: true,
    logLevel: "error",
    plugins: replacement ? [oneChange(replacement)] : [],
  });
  if (replacement && applied !== 1) throw new Error(`${replacement.file} is not part of the simulator`);
  return outfile;
}
