// Writes docs/reference and docs/EVENTS.md: npm run docs
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { renderEvents } from "./events.ts";
import { renderReference } from "./pages.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const { pages, faults } = renderReference(root);
const folder = path.join(root, "docs", "reference");
mkdirSync(folder, { recursive: true });
for (const [file, text] of pages) writeFileSync(path.join(folder, file), text);
writeFileSync(path.join(root, "docs", "EVENTS.md"), renderEvents());
for (const fault of faults) console.error(fault);
console.log(`docs/reference: ${pages.size} pages written, and docs/EVENTS.md`);
if (faults.length > 0) process.exitCode = 1;
