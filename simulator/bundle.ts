import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

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
  let applied = 0;
  const changed = replacement && path.join(ROOT, "packages/holdfast/src", replacement.file);
  await build({
    configFile: false,
    logLevel: "error",
    root: ROOT,
    build: {
      ssr: path.join(ROOT, "simulator/main.ts"),
      outDir: folder,
      emptyOutDir: false,
      target: "node20",
      minify: false,
      rollupOptions: { output: { entryFileNames: "simulator.mjs" } },
    },
    ssr: { noExternal: true },
    plugins: [
      {
        name: "one-change",
        enforce: "pre",
        transform(code, id) {
          if (!replacement || id !== changed) return undefined;
          applied += 1;
          return replaceOnce(code, replacement);
        },
      },
    ],
  });
  if (replacement && applied !== 1) throw new Error(`${replacement.file} is not part of the simulator`);
  return path.join(folder, "simulator.mjs");
}
