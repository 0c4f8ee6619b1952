// Reads the files of the repository that people write: nothing installed, built or stored by git.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Source } from "./source.ts";

const SKIPPED_FOLDERS = new Set(["node_modules", "dist", "coverage", "gen", ".git"]);
const TEXT_FILE = /(?:\.(?:ts|tsx|mts|mjs|js|json|md|sql|ya?ml|proto|css|html|sh|txt)|\/run|^\.npmrc|\/\.npmrc)$/;

export function readTree(root: string): Source[] {
  const sources: Source[] = [];
  const readFolder = (folder: string): void => {
    for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
      const relative = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (!SKIPPED_FOLDERS.has(entry.name)) readFolder(relative);
      } else if (entry.isFile() && TEXT_FILE.test(relative)) {
        sources.push({ path: relative, text: readFileSync(path.join(root, relative), "utf8") });
      }
    }
  };
  readFolder("");
  return sources.sort((a, b) => (a.path < b.path ? -1 : 1));
}
