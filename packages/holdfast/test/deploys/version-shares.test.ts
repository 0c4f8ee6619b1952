import { workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";

const v1 = workflow({ name: "greet", version: "1" }, async (ctx) => {
  await ctx.sleep("pause", "1 day");
  return "v1";
});
const v2 = workflow({ name: "greet", version: "2" }, async () => "v2");

describe("versions", () => {
  test("starts without a version get the default, explicit ones get theirs, and runs stay on theirs", async () => {
    const t = await testEngine({ workflows: [v1, v2] });
    const old = await t.client.start(v1, undefined, { id: "old" });
    expect((await old.describe()).version).toBe("1");
    await t.client.versions.setDefault("greet", "2");
    expect(await t.client.run("greet")).toBe("v2");
    expect(await t.client.run(v1)).toBe("v2");
    expect(await t.client.run("greet", undefined, { version: "1" })).toBe("v1");
    expect(await old.result()).toBe("v1");
    expect((await t.client.versions.list("greet")).map((row) => [row.version, row.isDefault])).toEqual([
      ["1", false],
      ["2", true],
    ]);
    await t.close();
  });

  test("a canary gets its share of the starts that name no version", async () => {
    const t = await testEngine({ workflows: [v1, v2] });
    await t.client.versions.setDefault("greet", "1");
    await t.client.versions.canary("greet", "2", 0.25);
    const handles = await t.client.startMany(Array.from({ length: 400 }, () => ({ workflow: "greet" })));
    const versions = await Promise.all(handles.map(async (handle) => (await handle.describe()).version));
    const canaries = versions.filter((version) => version === "2").length;
    expect(canaries).toBeGreaterThan(60);
    expect(canaries).toBeLessThan(140);
    await t.client.versions.canary("greet", "2", 0);
    expect((await (await t.client.start("greet")).describe()).version).toBe("1");
    await t.close();
  });

  test("a run whose version no worker has is held, neither failed nor tried in a loop, and says why", async () => {
    const t = await testEngine({ workflows: [v2] });
    const run = await t.client.start("greet", undefined, { id: "waits", version: "1" });
    await t.clock.advance("1 day");
    expect(await run.status()).toBe("pending");
    expect((await t.client.why("waits")).reason).toMatch(/no live worker offers greet@1/);
    const claims = t.store.calls["runs.claim"] ?? 0;
    await t.clock.advance("30 days");
    expect(t.store.calls["runs.claim"] ?? 0).toBe(claims);
    const worker = t.client.worker({ workflows: [v1] });
    await worker.start();
    expect(await run.result()).toBe("v1");
    await t.close();
  });

  test("changed code under the same version is reported once, or refused when asked for", async () => {
    const warnings: string[] = [];
    const logger = {
      debug() {},
      info() {},
      error() {},
      warn: (_: object, message: string) => void warnings.push(message),
    };
    const t = await testEngine({ workflows: [v2], logger });
    const changed = workflow({ name: "greet", version: "2" }, async () => "changed");
    await t.client.worker({ workflows: [changed] }).start();
    expect(warnings).toEqual([expect.stringMatching(/code of workflow "greet" version "2" has changed/)]);
    const strict = t.client.worker({ workflows: [v2], onChangedCode: "refuse" });
    await expect(strict.start()).rejects.toMatchObject({ code: "version_changed" });
    await t.close();
  });

  test("a default or canary must be a version that some worker has offered, and deprecating is visible", async () => {
    const t = await testEngine({ workflows: [v1] });
    await expect(t.client.versions.setDefault("greet", "9")).rejects.toMatchObject({ code: "version_not_registered" });
    await expect(t.client.versions.canary("greet", "1", 2)).rejects.toMatchObject({ code: "invalid_option" });
    await t.client.versions.deprecate("greet", "1");
    expect((await t.client.versions.list()).map((row) => row.deprecated)).toEqual([true]);
    await t.close();
  });
});
