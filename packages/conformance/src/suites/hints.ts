import type { Hint } from "holdfast/adapter";
import { expect } from "vitest";
import { due, ended, expectHints } from "../expected-hints.ts";
import { REPLACED } from "../fixture.ts";
import { untilSeen } from "../patience.ts";
import { end, errorRecord, HOLD, LEASE_MS, park, RELEASE, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

/**
 * Code must not depend on hints, so extra hints and their number are not tested; but a store without hints would make
 * everything poll.
 */
export const hints: Suite = {
  noun: "hints",
  cases: {
    "a run that is started, or given back, is hinted as due": async (t) => {
      const workerId = await t.worker();
      const claim = () => t.claimOne(workerId, { queues: ["q"] });
      await expectHints(t, [due("q")], () => t.start({ queue: "q" }));
      const holder = await claim();
      await expectHints(t, [due("q")], () => holder.commit(RELEASE));
      const again = await claim();
      await expectHints(t, [due("q")], () => again.commit(suspend(0)));
      const { runId, epoch } = await claim();
      await expectHints(t, [due("q")], () =>
        t.store.runs.releaseIfHeld({ namespace: "default", workerId, runs: [{ runId, epoch }] }),
      );
      await claim();
      await expectHints(t, [due("q")], () => t.store.workers.stop({ namespace: "default", workerId }));
    },

    "a run that is to start later is hinted with its time, the earliest of each queue": async (t) => {
      const at = t.now + 4_000;
      await expectHints(t, [due("q", at)], () => t.start({ queue: "q", startDelayMs: 4_000 }));
      await expectHints(t, [due("q", at)], () => t.start({ queue: "q", startAt: at }));
      const runs = [6_000, 4_000].map((startDelayMs) => t.newRun({ queue: "q", startDelayMs }));
      await expectHints(t, [due("q", at)], () => t.startMany(runs));
    },

    "a run that is returned by a sweep is hinted as due, one that timed out as ended": async (t) => {
      await t.held({ queue: "q" });
      const late = await t.start({ timeoutMs: 10 });
      await t.advance(LEASE_MS * 2);
      await expectHints(t, [due("q"), ended(late.run.runId)], () => t.sweep());
    },

    "a run that is parked is hinted to those who wait for its end, also when a sweep has parked it": async (t) => {
      const parked = await t.held();
      await expectHints(t, [ended(parked.runId)], () => parked.commit(park("odd")));
      const poison = await t.held();
      await t.advance(LEASE_MS * 2);
      await t.sweep();
      await t.claim(await t.worker(), { solo: false });
      await t.advance(LEASE_MS * 2);
      await t.sweep();
      await t.claim(await t.worker(), { solo: true });
      await t.advance(LEASE_MS * 2);
      await expectHints(t, [ended(poison.runId)], () => t.sweep({ parkAfter: 1 }));
    },

    "a run that is resumed or reopened is hinted as due": async (t) => {
      const parked = await t.held({ queue: "q" });
      await parked.commit(park("odd"));
      await expectHints(t, [due("q")], () => t.resume(t.ref(parked.runId)));
      const failed = await t.held({ queue: "r" });
      await failed.commit(end({ status: "failed", output: null }));
      const event = { type: "run_retried", op: null } as const;
      await expectHints(t, [due("r")], () =>
        t.store.runs.reopenIfFailed({ run: t.ref(failed.runId), eventCount: 0, event }),
      );
    },

    "a message to a run that nobody holds is hinted as due": async (t) => {
      const holder = await t.held({ queue: "q" });
      await holder.commit(suspend(null));
      await expectHints(t, [due("q")], () => t.deliver(t.ref(holder.runId)));
    },

    "a message to a held run is hinted to its worker": async (t) => {
      const { runId, workerId } = await t.held();
      await expectHints(t, [{ type: "inbox", runId, workerId }], () => t.deliver(t.ref(runId)));
    },

    "an end is hinted, however it came": async (t) => {
      const holder = await t.held();
      await expectHints(t, [ended(holder.runId)], () => holder.commit(end()));
      const { run } = await t.start();
      await expectHints(t, [ended(run.runId)], () =>
        t.store.runs.terminate({ runs: [t.ref(run.runId)], error: errorRecord("x") }),
      );
    },

    "a run that is taken from its holder is hinted to it": async (t) => {
      const [one, two] = [await t.held(), await t.held({ id: "two" })];
      const takenFrom = ({ runId, workerId }: { runId: string; workerId: string }): Hint => ({
        type: "taken",
        runId,
        workerId,
      });
      await expectHints(t, [takenFrom(one), ended(one.runId)], () =>
        t.store.runs.terminate({ runs: [t.ref(one.runId)], error: REPLACED }),
      );
      await expectHints(t, [takenFrom(two), ended(two.runId)], () => t.start({ id: "two" }, { ifRunning: "replace" }));
    },

    "a run that continues is hinted as ended and its successor as due": async (t) => {
      const holder = await t.held({ id: "a" });
      const next = t.newRun({ id: "a", queue: "q" });
      await expectHints(t, [ended(holder.runId), due("q")], () =>
        holder.commit({ type: "continue", next, carried: [] }),
      );
    },

    "what is hinted can be read": async (t) => {
      const statuses: Promise<unknown>[] = [];
      t.notifier.subscribe((hint) => {
        if (hint.type === "ended") statuses.push(t.run(hint.runId).then((run) => run.status));
      });
      const holder = await t.held();
      await holder.commit(end());
      await untilSeen(t, "the hint", () => statuses.length > 0);
      expect(await statuses[0]).toBe("completed");
    },

    "a listener is called later, and not after it has unsubscribed": async (t) => {
      const heard: string[] = [];
      const stop = t.notifier.subscribe(() => heard.push("first"));
      t.notifier.subscribe(() => heard.push("second"));
      t.notifier.publish([due("q")]);
      expect(heard).toEqual([]);
      await untilSeen(t, "the hint", () => heard.includes("first") && heard.includes("second"));
      stop();
      stop();
      heard.length = 0;
      t.notifier.publish([due("q")]);
      await untilSeen(t, "the hint", () => heard.includes("second"));
      expect(heard).not.toContain("first");
    },

    "to publish to nobody, or nothing, is no error": async (t) => {
      t.notifier.publish([]);
      t.notifier.publish([due("q")]);
      const holder = await t.held();
      expect(await holder.commit(HOLD)).toMatchObject({ outcome: "written" });
    },

    "hints reach other connections, where the notifier says so": async (t) => {
      const second = await t.underTest.openSecond?.();
      if (!second || !t.underTest.hintsReachOthers) return;
      await expectHints(t, [due("q")], () => t.start({ queue: "q" }), second.notifier);
      const later = due("q", t.now + 4_000);
      await expectHints(t, [later], () => t.start({ queue: "q", startDelayMs: 4_000 }), second.notifier);
      const { runId, workerId } = await t.held();
      const deliver = () => second.store.inbox.deliver({ messages: [t.newMessage(t.ref(runId))], inboxMax: 10 });
      await expectHints(t, [{ type: "inbox", runId, workerId }], deliver);
    },
  },
};
