import path from "node:path";
import { fileURLToPath } from "node:url";

/** A program of this folder, by its name: the sources have one extension, the build another. */
export function programOf(name: string): string {
  return fileURLToPath(new URL(`./${name}${path.extname(import.meta.url)}`, import.meta.url));
}
