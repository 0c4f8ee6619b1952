import { expect } from "vitest";
import { end, errorRecord } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

/** Runs reach runs of another namespace only if that namespace has let theirs in. */
export const permissions: Suite = {
  noun: "permissions",
  cases: {
    "a namespace lists those that it has let in, in order": async (t) => {
      const read = async (namespace: string) => (await t.store.namespaces.read({ namespace })).allows;
      expect(await read("shop")).toEqual([]);
      for (const other of ["ops", "billing", "Zoo", "billing"])
        await t.store.namespaces.allow({ namespace: "shop", other });
      expect([...(await read("shop"))].sort()).toEqual(["Zoo", "billing", "ops"]);
      await t.store.namespaces.disallow({ namespace: "shop", other: "Zoo" });
      expect(await read("shop")).toEqual(["billing", "ops"]);
      await t.store.namespaces.disallow({ namespace: "shop", other: "ops" });
      await t.store.namespaces.disallow({ namespace: "shop", other: "nobody" });
      expect(await read("shop")).toEqual(["billing"]);
      expect(await read("billing")).toEqual([]);
    },

    "a message from another namespace is refused, before anything else": async (t) => {
      const run = await t.held();
      const refused = { outcome: "not_allowed", runId: null, status: null };
      for (const kind of ["signal", "cancel", "update", "child_completed"] as const) {
        expect(await t.deliver(t.ref(run.runId), { kind, from: "other" })).toEqual(refused);
        expect(await t.deliver(t.ref(t.newId()), { kind, from: "other" })).toEqual(refused);
      }
      expect(await t.run(run.runId)).toMatchObject({ delivered: 0 });
      await run.commit(end());
      expect(await t.deliver(t.ref(run.runId), { from: "other" })).toEqual(refused);
      expect(await t.deliver(t.ref(run.runId), { from: "default" })).toMatchObject({ outcome: "closed" });
    },

    "a message from a namespace that was let in arrives, in that direction only": async (t) => {
      await t.store.namespaces.allow({ namespace: "default", other: "other" });
      const [run, foreign] = [await t.held(), await t.held({ namespace: "other" })];
      expect(await t.deliver(t.ref(run.runId), { from: "other" })).toMatchObject({ outcome: "delivered" });
      expect(await t.deliver(t.ref(run.runId), { from: "third" })).toMatchObject({ outcome: "not_allowed" });
      const back = { namespace: "other", runId: foreign.runId };
      expect(await t.deliver(back, { from: "default" })).toMatchObject({ outcome: "not_allowed" });
      expect(await t.deliver(back, { from: "other" })).toMatchObject({ outcome: "delivered" });
      expect(await t.deliver(back)).toMatchObject({ outcome: "delivered" });
      await t.store.namespaces.disallow({ namespace: "default", other: "other" });
      expect(await t.deliver(t.ref(run.runId), { from: "other" })).toMatchObject({ outcome: "not_allowed" });
      expect(await t.inbox(run.runId)).toHaveLength(1);
    },

    "a permission is not one for its name in another case": async (t) => {
      const run = await t.held();
      await t.store.namespaces.allow({ namespace: "default", other: "Other" });
      expect(await t.deliver(t.ref(run.runId), { from: "other" })).toMatchObject({ outcome: "not_allowed" });
    },

    "messages of one call are judged one by one": async (t) => {
      const run = await t.held();
      const to = t.ref(run.runId);
      const messages = [t.newMessage(to, { from: "other" }), t.newMessage(to, { from: "default" }), t.newMessage(to)];
      const { outcomes } = await t.store.inbox.deliver({ messages, inboxMax: 10 });
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(["not_allowed", "delivered", "delivered"]);
    },

    "a run of another namespace is watched only if it lets the watcher in": async (t) => {
      const [run, watcher] = [await t.held({ namespace: "other" }), await t.held()];
      const target = { namespace: "other", runId: run.runId };
      const refused = { outcome: "not_allowed", end: null };
      expect(await t.talks.watch(target, t.talks.op(watcher))).toEqual(refused);
      expect(await t.talks.watch({ ...target, runId: t.newId() }, t.talks.op(watcher))).toEqual(refused);
      await t.store.namespaces.allow({ namespace: "other", other: "default" });
      expect(await t.talks.watch(target, t.talks.op(watcher))).toMatchObject({ outcome: "watching" });
      await t.store.namespaces.disallow({ namespace: "other", other: "default" });
      expect(await run.commit(end())).toMatchObject({ owes: true });
      expect(await t.talks.resultOf(run)).toMatchObject({ watchers: [{ namespace: "default", runId: watcher.runId }] });
      expect(await t.talks.watch(target, t.talks.op(watcher))).toEqual(refused);
    },

    "a child is started in another namespace only if that lets the parent in": async (t) => {
      const parent = await t.held();
      const fields = { namespace: "other", id: "c" };
      expect(await t.talks.tryChild(parent, {}, fields)).toEqual({ outcome: "not_allowed", run: null });
      const [none] = await t.store.runs.read({ runs: [{ namespace: "other", id: "c" }] });
      expect(none).toBeNull();
      await t.store.namespaces.allow({ namespace: "default", other: "other" });
      expect((await t.talks.tryChild(parent, {}, fields)).outcome).toBe("not_allowed");
      await t.store.namespaces.allow({ namespace: "other", other: "default" });
      const child = await t.talks.heldChild(parent, {}, fields);
      await t.store.namespaces.disallow({ namespace: "other", other: "default" });
      const again = await t.talks.tryChild(parent, {}, { ...fields, runId: child.runId });
      expect(again).toMatchObject({ outcome: "created", run: { runId: child.runId } });
      expect(await child.commit(end())).toMatchObject({ owes: true });
      expect(await t.talks.resultOf(child)).toMatchObject({ parent: { namespace: "default", runId: parent.runId } });
    },

    "a parent is a run of the namespace that the start names": async (t) => {
      const parent = await t.held();
      await t.store.namespaces.allow({ namespace: "default", other: "other" });
      const stranger = { namespace: "other", runId: parent.runId };
      expect(await t.talks.tryChild(stranger)).toEqual({ outcome: "parent_closed", run: null });
      expect(await t.talks.childrenOf(parent)).toEqual([]);
    },

    "children of other namespaces are closed where they are": async (t) => {
      const parent = await t.held();
      await t.store.namespaces.allow({ namespace: "other", other: "default" });
      const child = await t.talks.child(parent, { policy: "terminate" }, { namespace: "other" });
      await t.store.runs.terminate({ runs: [t.ref(parent.runId)], error: errorRecord("stop") });
      expect((await t.talks.closeOf(parent)).children).toEqual([
        { namespace: "other", runId: child, openRunId: child, policy: "terminate" },
      ]);
      await t.talks.payAll();
      expect(await t.run({ namespace: "other", runId: child })).toMatchObject({ status: "terminated" });
    },
  },
};
