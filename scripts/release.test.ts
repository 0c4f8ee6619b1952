// A release, in a clone of its own: what changes, what is refused, and that nothing changes without --write.
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "./packages/published-packages.ts";
import { notesOf, released, unreleased } from "./release/changelog.ts";
import { compareVersions, isVersion } from "./release/version.ts";
import { currentVersion } from "./release/versioned-files.ts";

const CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n## [0.1.0] - 2026-01-01\n\n- All.\n";

test("versions are ordered, and those before a release come before it", () => {
  const ordered = ["0.1.0-alpha.2", "0.1.0-beta.1", "0.1.0-beta.10", "0.1.0", "0.2.0", "0.10.0", "1.0.0"];
  expect([...ordered].sort(compareVersions)).toEqual(ordered);
  expect(["1.0", "v1.0.0", "1.0.0-", "1.0.0 "].filter(isVersion)).toEqual([]);
});

test("what is unreleased becomes the section of the version, and its notes", () => {
  expect(unreleased(CHANGELOG)).toBe("### Added\n\n- A thing.");
  const next = released(CHANGELOG, "0.2.0", "2026-02-02");
  expect(next).toContain("## [Unreleased]\n\n## [0.2.0] - 2026-02-02\n\n### Added");
  expect(notesOf(next, "0.2.0")).toBe("### Added\n\n- A thing.\n");
  expect(notesOf(next, "0.1.0")).toBe("- All.\n");
  expect(() => released(next, "0.3.0", "2026-03-03")).toThrow("nothing to release");
});

describe("npm run release", { timeout: 180_000 }, () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-release-test-"));
  const clone = path.join(folder, "clone");
  const git = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync("git", args, { cwd: clone, encoding: "utf8" });
    expect(status, stderr).toBe(0);
    return stdout;
  };
  const release = (...args: string[]) =>
    spawnSync(process.execPath, ["--import", "tsx", "scripts/release/main.ts", ...args], {
      cwd: clone,
      encoding: "utf8",
    });
  const next = `${Number(currentVersion(root).split(".")[0]) + 1}.0.0`;

  beforeAll(() => {
    // The files as they are, committed or not.
    const listed = spawnSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: root }).stdout;
    spawnSync("git", ["init", "--quiet", clone]);
    const copied = spawnSync("sh", ["-c", 'tar --null -T - -cf - | tar -xf - -C "$0"', clone], {
      cwd: root,
      input: listed,
    });
    expect(String(copied.stderr)).toBe("");
    symlinkSync(path.join(root, "node_modules"), path.join(clone, "node_modules"));
    for (const [name, value] of [
      ["user.name", "Test"],
      ["user.email", "test@example.com"],
      ["commit.gpgsign", "false"],
      ["tag.gpgsign", "false"],
    ] as const)
      git("config", name, value);
    writeFileSync(path.join(clone, ".git/info/exclude"), "node_modules\n");
    git("add", "--all");
    git("commit", "--quiet", "--message", "all");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("says what it would do, and changes nothing", () => {
    const { status, stdout, stderr } = release(next, "--no-pack");
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`Would commit "release: ${next}" and tag v${next}`);
    expect(stdout).toContain("packages/holdfast/package.json");
    expect([git("status", "--porcelain"), git("tag")]).toEqual(["", ""]);
  });

  test("refuses a version that is none or comes before, and a tree with changes", () => {
    expect(release("soon", "--no-pack")).toMatchObject({ status: 1, stderr: expect.stringContaining("is no version") });
    expect(release("0.0.1", "--no-pack").stderr).toContain("does not come after");
    appendFileSync(path.join(clone, "README.md"), "\n");
    expect(release(next, "--no-pack").stderr).toContain("README.md");
    git("checkout", "--", "README.md");
  });

  test("changes every version, commits and tags; the same version cannot be released again", () => {
    const notes = path.join(folder, "notes.md");
    const { status, stderr } = release(next, "--no-pack", "--write", "--notes", notes);
    expect([status, stderr]).toEqual([0, ""]);
    expect(git("tag").trim()).toBe(`v${next}`);
    expect([git("status", "--porcelain"), git("log", "-1", "--format=%s").trim()]).toEqual(["", `release: ${next}`]);
    const read = (file: string): string => readFileSync(path.join(clone, file), "utf8");
    expect(currentVersion(clone)).toBe(next);
    expect(JSON.parse(read("packages/cli/package.json"))).toMatchObject({
      version: next,
      peerDependencies: { holdfast: `^${next}` },
      devDependencies: { "@holdfast/server": next },
    });
    expect(JSON.parse(read("package-lock.json")).packages["packages/holdfast"].version).toBe(next);
    expect(read("package-lock.json")).not.toMatch(/"resolved": "https?:/);
    expect(read("packages/server/src/store-service/version.ts")).toContain(`VERSION = "${next}"`);
    expect(read("deploy/helm/holdfast/Chart.yaml")).toMatch(
      new RegExp(`^version: ${next}\\nappVersion: "${next}"$`, "m"),
    );
    expect(read("CHANGELOG.md")).toContain(`## [Unreleased]\n\n## [${next}] - `);
    expect(readFileSync(notes, "utf8").length).toBeGreaterThan(100);
    expect(release(next, "--no-pack").stderr).toContain("does not come after");
  });
});
