// The steps of a release; see scripts/release.mjs. Nothing is pushed or published.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { CheckFailed, command } from "../packages/commands.ts";
import { readPublishedPackages, root } from "../packages/published-packages.ts";
import { findPublishingFaults } from "../packages/publishing-faults.ts";
import { findLeftovers, packAll } from "../packages/tarballs.ts";
import { notesOf, released } from "./changelog.ts";
import { compareVersions, isVersion } from "./version.ts";
import { currentVersion, withVersion } from "./versioned-files.ts";

const USAGE = "npm run release -- <version> [--write] [--notes file] | pack --to <folder>";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    write: { type: "boolean", default: false },
    to: { type: "string" },
    notes: { type: "string" },
    // The packages of the tree have been checked before.
    "no-pack": { type: "boolean", default: false },
  },
});

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const [what = ""] = positionals;
  if (what === "pack" && values.to !== undefined) {
    mkdirSync(values.to, { recursive: true });
    for (const { name, file } of await packAll(path.resolve(values.to))) console.log(`${name}  ${file}`);
    return;
  }
  if (!isVersion(what)) throw new Error(`"${what}" is no version. ${USAGE}`);
  await release(what, values.write);
}

async function release(version: string, write: boolean): Promise<void> {
  await requireReleasable(version);
  const day = new Date().toISOString().slice(0, 10);
  const changelog = released(readFileSync(path.join(root, "CHANGELOG.md"), "utf8"), version, day);
  const files = withVersion(root, version).set("CHANGELOG.md", changelog);
  const notes = notesOf(changelog, version);
  if (!values["no-pack"]) await checkPackages();
  console.log(`\n${write ? "Changes" : "Would change"}, from ${currentVersion(root)} to ${version}:`);
  for (const file of files.keys()) console.log(`  ${file}`);
  if (!write) {
    console.log(`\nWould commit "release: ${version}" and tag v${version}. The notes:\n\n${notes}`);
    console.log("A dry run: nothing was changed. Add --write to do it.");
    return;
  }
  for (const [file, text] of files) writeFileSync(path.join(root, file), text);
  await command("npm", ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: root,
  });
  await git("commit", "--all", "--quiet", "--message", `release: ${version}`);
  await git("tag", "--annotate", `v${version}`, "--message", `Holdfast ${version}`);
  const notesFile = path.resolve(values.notes ?? path.join(os.tmpdir(), `holdfast-${version}.md`));
  writeFileSync(notesFile, notes);
  console.log(`\nCommitted and tagged v${version}; the notes are in ${notesFile}.`);
  console.log(
    `Nothing was published. When CI has passed: git push --follow-tags, and for each package: npm publish --workspace <name>`,
  );
}

async function requireReleasable(version: string): Promise<void> {
  const current = currentVersion(root);
  // The first release has the version that the packages have already.
  const first = (await git("tag", "--list", "v*")).trim() === "";
  if (compareVersions(version, current) < (first ? 0 : 1))
    throw new Error(`${version} does not come after ${current}, which the packages have.`);
  if ((await git("tag", "--list", `v${version}`)).trim() !== "") throw new Error(`There is a tag v${version} already.`);
  const dirty = (await git("status", "--porcelain")).trim();
  if (dirty !== "") throw new Error(`The tree has changes that are not committed:\n${dirty}`);
}

/** As they are packed: no leftovers, nothing that publint or arethetypeswrong objects to. */
async function checkPackages(): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-release-"));
  try {
    const published = readPublishedPackages();
    for (const { name, file, files } of await packAll(folder)) {
      const place = published.find(({ manifest }) => manifest.name === name)?.path ?? "";
      const read = (wanted: string): string => readFileSync(path.join(place, wanted), "utf8");
      const faults = [...findLeftovers(files, read), ...(await findPublishingFaults(file))];
      if (faults.length > 0) throw new CheckFailed([`${name} cannot be published:`, ...faults].join("\n  "));
      console.log(`${name}: ${files.length} files, no faults`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function git(...args: string[]): Promise<string> {
  return command("git", args, { cwd: root });
}
