import type { StartDefaults } from "holdfast/adapter";
import { expect } from "vitest";
import { aStart, type Fixture, REPLACED } from "../fixture.ts";
import type { Suite } from "../suite.ts";

export const versions: Suite = {
  noun: "versions",
  cases: {
    "a version becomes known with the hash of its code": async (t) => {
      expect(await register(t, ["1", "h1"])).toEqual([null]);
      expect(await t.store.versions.list({ namespace: "default" })).toEqual([
        {
          namespace: "default",
          workflow: "order",
          version: "1",
          hash: "h1",
          isDefault: false,
          share: 0,
          deprecated: false,
          registeredAt: t.now,
          starts: null,
        },
      ]);
    },

    "what runs of a version have is registered with it: the newest that was said counts": async (t) => {
      const starts = { queue: "q", priority: -2, timeoutMs: 5, keyed: true } as const;
      const say = (...given: readonly (StartDefaults | undefined)[]) =>
        Promise.all(
          given.map((one) => {
            const versions = [{ workflow: "order", version: "1", hash: "h", ...(one && { starts: one }) }];
            return t.store.versions.register({ namespace: "default", versions });
          }),
        );
      await say(undefined);
      const [before] = await say(starts);
      expect(before).toMatchObject([{ starts: null }]);
      await say(undefined);
      expect(await t.store.versions.list({ namespace: "default", workflow: "order" })).toMatchObject([{ starts }]);
      const other = { queue: "r", priority: 0, timeoutMs: null, keyed: false };
      await say(other);
      expect(await t.store.versions.list({ namespace: "default" })).toMatchObject([{ hash: "h", starts: other }]);
    },

    "registering again answers what was there before, and the newest hash stays": async (t) => {
      await register(t, ["1", "h1"]);
      const [before] = await t.store.versions.list({ namespace: "default" });
      await t.advance(10);
      expect(await register(t, ["2", "h2"], ["1", "other"])).toEqual([null, before]);
      expect(await t.store.versions.list({ namespace: "default" })).toMatchObject([
        { ...before, hash: "other" },
        { version: "2", hash: "h2", registeredAt: t.now },
      ]);
    },

    "registering again leaves default, share and deprecation": async (t) => {
      await register(t, ["1", "h1"]);
      await update(t, "1", { isDefault: true });
      await update(t, "1", { share: 0.5 });
      await update(t, "1", { deprecated: true });
      await register(t, ["1", "h2"]);
      expect(await t.store.versions.list({ namespace: "default" })).toMatchObject([
        { isDefault: true, share: 0.5, deprecated: true, hash: "h2" },
      ]);
    },

    "versions are listed by workflow and then by registration, of one namespace": async (t) => {
      await register(t, ["9", "h"]);
      await t.advance(1);
      await register(t, ["10", "h"]);
      await t.store.versions.register({
        namespace: "default",
        versions: [{ workflow: "a first one", version: "1", hash: "h" }],
      });
      await t.store.versions.register({
        namespace: "other",
        versions: [{ workflow: "order", version: "3", hash: "h" }],
      });
      const listed = await t.store.versions.list({ namespace: "default" });
      expect(listed.map(({ workflow, version }) => [workflow, version])).toEqual([
        ["a first one", "1"],
        ["order", "9"],
        ["order", "10"],
      ]);
      const orders = await t.store.versions.list({ namespace: "default", workflow: "order" });
      expect(orders.map(({ version }) => version)).toEqual(["9", "10"]);
      expect(await t.store.versions.list({ namespace: "none" })).toEqual([]);
    },

    "a default is taken from the version that had it": async (t) => {
      await register(t, ["1", "h"], ["2", "h"]);
      expect(await update(t, "1", { isDefault: true })).toEqual({ known: true });
      expect(await update(t, "2", { isDefault: true })).toEqual({ known: true });
      expect(await update(t, "2", { isDefault: true })).toEqual({ known: true });
      expect(await flags(t, "isDefault")).toEqual([
        ["1", false],
        ["2", true],
      ]);
    },

    "a share is taken from the version that had it, and leaves the default": async (t) => {
      await register(t, ["1", "h"], ["2", "h"], ["3", "h"]);
      await update(t, "1", { isDefault: true });
      await update(t, "2", { share: 0.25 });
      await update(t, "3", { share: 0.125 });
      expect(await flags(t, "share")).toEqual([
        ["1", 0],
        ["2", 0],
        ["3", 0.125],
      ]);
      expect(await flags(t, "isDefault")).toEqual([
        ["1", true],
        ["2", false],
        ["3", false],
      ]);
    },

    "deprecation is set and taken back, for one version": async (t) => {
      await register(t, ["1", "h"], ["2", "h"]);
      await update(t, "1", { deprecated: true });
      expect(await flags(t, "deprecated")).toEqual([
        ["1", true],
        ["2", false],
      ]);
      await update(t, "1", { deprecated: false });
      expect(await flags(t, "deprecated")).toEqual([
        ["1", false],
        ["2", false],
      ]);
    },

    "an unknown version is not changed, and nor is anything else": async (t) => {
      await register(t, ["1", "h"]);
      await update(t, "1", { isDefault: true });
      expect(await update(t, "2", { isDefault: true })).toEqual({ known: false });
      const elsewhere = { namespace: "other", workflow: "order", version: "1", change: { isDefault: true } } as const;
      expect(await t.store.versions.updateIfKnown(elsewhere)).toEqual({ known: false });
      expect(await flags(t, "isDefault")).toEqual([["1", true]]);
    },

    "defaults of other workflows and namespaces stay": async (t) => {
      const versions = [{ workflow: "refund", version: "1", hash: "h" }];
      const change = { isDefault: true } as const;
      await t.store.versions.register({ namespace: "default", versions });
      await t.store.versions.updateIfKnown({ namespace: "default", workflow: "refund", version: "1", change });
      await register(t, ["1", "h"]);
      await update(t, "1", change);
      const listed = await t.store.versions.list({ namespace: "default" });
      expect(listed.map(({ isDefault }) => isDefault)).toEqual([true, true]);
    },

    "a start without pick gets exactly its version": async (t) => {
      await register(t, ["1", "h"], ["2", "h"]);
      await update(t, "2", { isDefault: true });
      expect((await t.start({ version: "7" })).run.version).toBe("7");
    },

    "starts that name a version keep it beside others in the call that leave it open": async (t) => {
      await register(t, ["1", "h"], ["2", "h"]);
      await update(t, "1", { isDefault: true });
      await update(t, "2", { share: 0.5 });
      const starts = [null, 0.2, 0.7].map((pick) => aStart(t.newRun({ version: "7" }), { pick }));
      const { outcomes } = await t.store.runs.start({ starts, holdBy: null, replaceError: REPLACED });
      expect(outcomes.map(({ run }) => run?.version)).toEqual(["7", "2", "1"]);
      const runs = outcomes.map(({ run }) => t.ref(run?.runId as string));
      expect((await t.store.runs.read({ runs })).map((run) => run?.version)).toEqual(["7", "2", "1"]);
    },

    "a start with pick gets the version whose share is above it, else the default, else its own": async (t) => {
      expect((await t.start({ version: "7" }, { pick: 0 })).run.version).toBe("7");
      await register(t, ["1", "h"], ["2", "h"]);
      expect((await t.start({ version: "7" }, { pick: 0 })).run.version).toBe("7");
      await update(t, "2", { share: 0.25 });
      expect((await t.start({ version: "7" }, { pick: 0.2 })).run.version).toBe("2");
      expect((await t.start({ version: "7" }, { pick: 0.25 })).run.version).toBe("7");
      await update(t, "1", { isDefault: true });
      expect((await t.start({ version: "7" }, { pick: 0.2 })).run.version).toBe("2");
      expect((await t.start({ version: "7" }, { pick: 0.25 })).run.version).toBe("1");
      expect((await t.start({ version: "7" }, { pick: 0.999 })).run.version).toBe("1");
      expect((await t.start({ version: "7", workflow: "refund" }, { pick: 0 })).run.version).toBe("7");
      expect((await t.start({ version: "7", namespace: "other" }, { pick: 0 })).run.version).toBe("7");
    },

    "the version that was picked is what is claimed, and a repeated start does not pick again": async (t) => {
      await register(t, ["2", "h"], ["3", "h"]);
      await update(t, "2", { isDefault: true });
      const { run } = await t.start({ id: "a" }, { pick: 0.5 });
      await update(t, "3", { isDefault: true });
      const again = await t.start({ id: "a", runId: run.runId }, { pick: 0.5 });
      expect(again).toMatchObject({ outcome: "created", run: { version: "2" } });
      const handlers = [{ workflow: "order", version: "2" }];
      expect((await t.claim(await t.worker(), { handlers })).runs).toMatchObject([{ version: "2" }]);
    },
  },
};

type Change = Parameters<Fixture["store"]["versions"]["updateIfKnown"]>[0]["change"];

function register(t: Fixture, ...pairs: readonly (readonly [version: string, hash: string])[]) {
  const versions = pairs.map(([version, hash]) => ({ workflow: "order", version, hash }));
  return t.store.versions.register({ namespace: "default", versions });
}

function update(t: Fixture, version: string, change: Change) {
  return t.store.versions.updateIfKnown({ namespace: "default", workflow: "order", version, change });
}

async function flags(t: Fixture, field: "isDefault" | "share" | "deprecated") {
  const rows = await t.store.versions.list({ namespace: "default", workflow: "order" });
  return rows.map((row) => [row.version, row[field]]);
}
