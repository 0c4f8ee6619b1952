import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { openStage } from "./stage.ts";
import { openTortureClient } from "./torture-client.ts";

test("a file that is tortured stays as it is: the torture has a folder of its own beside it, and removes it", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-stage-"));
  const file = path.join(folder, "app.db");
  writeFileSync(file, "");
  for (const url of [`file:${file}`, `file://${file}`]) {
    const stage = await openStage(url);
    const { client } = await openTortureClient(stage.place);
    await client.close();
    expect(path.dirname(stage.folder)).toBe(folder);
    expect(stage.place.url).toContain(stage.folder);
    await stage.remove();
    expect(existsSync(stage.folder)).toBe(false);
  }
  expect(existsSync(file)).toBe(true);
  rmSync(folder, { recursive: true });
});
