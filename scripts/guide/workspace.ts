// Writes the blocks of the guide as files that tsc, tsx and vitest can read, in a folder that git ignores.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Block, readBlocks } from "./blocks.ts";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
export const guideFolder = path.join(root, "docs", "guide");
export const projectReadme = path.join(root, "README.md");

/** Every folder called "dist" is ignored by git, by Biome and by the house rules. */
const OUTPUT = path.join(root, "dist");
const TSCONFIG = { extends: "../../tsconfig.check.json", include: ["**/*.ts"], exclude: [] };

export function pageNames(): string[] {
  const names = readdirSync(guideFolder).filter((name) => name.endsWith(".md"));
  return names.map((name) => name.slice(0, -".md".length)).sort();
}

/** The blocks of all pages, and of the first page that anybody reads. */
export function readGuide(): Block[] {
  const read = (page: string, file: string): Block[] => readBlocks(page, readFileSync(file, "utf8"));
  const pages = pageNames().flatMap((page) => read(page, path.join(guideFolder, `${page}.md`)));
  return [...pages, ...read("project-README", projectReadme)];
}

/** A separate folder for each check of the guide, so that two at once do not disturb each other. */
export class Workspace {
  readonly folder: string;

  constructor(blocks: readonly Block[]) {
    mkdirSync(OUTPUT, { recursive: true });
    this.folder = mkdtempSync(path.join(OUTPUT, "guide-"));
    writeFileSync(path.join(this.folder, "package.json"), '{ "type": "module" }\n');
    writeFileSync(path.join(this.folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
    for (const block of blocks) {
      mkdirSync(path.join(this.folder, block.page), { recursive: true });
      // The code is on the same lines as in the page, so that messages point there.
      writeFileSync(this.pathOf(block), "\n".repeat(block.line - 1) + block.code, { flag: "wx" });
    }
  }

  pathOf(block: Block): string {
    return path.join(this.folder, block.page, block.file);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
