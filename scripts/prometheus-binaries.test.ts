import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { findOrUnpackPrometheus, findPrometheus } from "./prometheus-binaries.mjs";

afterEach(() => void vi.unstubAllEnvs());

function folderWith(...programs: string[]): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-programs-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const program of programs) {
    writeFileSync(path.join(folder, program), "");
    chmodSync(path.join(folder, program), 0o755);
  }
  return folder;
}

test("the folder that the environment names comes first, and must have both programs", () => {
  vi.stubEnv("PATH", folderWith("prometheus", "promtool"));
  const given = folderWith("prometheus", "promtool");
  vi.stubEnv("HOLDFAST_TEST_PROMETHEUS", given);
  expect(findPrometheus()).toBe(given);
  vi.stubEnv("HOLDFAST_TEST_PROMETHEUS", folderWith("prometheus"));
  expect(() => findPrometheus()).toThrow("a folder without prometheus and promtool");
});

test("what is installed comes before what was unpacked, and that is found again", () => {
  vi.stubEnv("HOLDFAST_TEST_PROMETHEUS", "");
  const [cache, installed] = [folderWith(), folderWith("prometheus", "promtool")];
  const unpacked = path.join(cache, `${process.platform}-${process.arch}`, "usr", "bin");
  mkdirSync(unpacked, { recursive: true });
  for (const program of ["prometheus", "promtool"]) writeFileSync(path.join(unpacked, program), "");
  vi.stubEnv("PATH", folderWith());
  expect(findOrUnpackPrometheus(cache)).toEqual({ folder: unpacked });
  vi.stubEnv("PATH", installed);
  expect(findOrUnpackPrometheus(cache)).toEqual({ folder: installed });
});

test("where it cannot be had, the reason says what to do", () => {
  vi.stubEnv("HOLDFAST_TEST_PROMETHEUS", "");
  vi.stubEnv("PATH", folderWith());
  const { missing } = findOrUnpackPrometheus(folderWith());
  expect(missing).toMatch(/no Debian.*apt-get install prometheus.*HOLDFAST_TEST_PROMETHEUS/);
});
