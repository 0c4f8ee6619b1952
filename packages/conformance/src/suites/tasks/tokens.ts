import { taskMessageId } from "holdfast/adapter";
import { expect } from "vitest";
import { bytes, end, HOLD } from "../../sample-data.ts";
import { byToken, COMPLETED, failed, failure, MADE_EXTERNAL, retried, secretOf } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** Tasks that someone with a token finishes. Whoever asks may not have heard the answer, and asks again. */
export const taskTokens: Suite = {
  noun: "task tokens",
  cases: {
    "an external task is finished with its token, once": async (t) => {
      const { holder, key } = await t.tasks.scheduled({ external: true, op: "approval" });
      const task = await t.tasks.read(key);
      const finishId = t.newId();
      expect(await t.tasks.finish(task, COMPLETED, byToken(task, finishId))).toBe("done");
      expect(await t.tasks.find(key)).toBeNull();
      expect(await t.inbox(holder.runId)).toMatchObject([
        {
          number: 1,
          kind: "task_completed",
          name: "approval",
          messageId: taskMessageId(1, 1, finishId),
          payload: bytes('"sent"'),
        },
      ]);
      expect(await t.tasks.finish(task, COMPLETED, byToken(task, t.newId()))).toBe("lost");
      expect(await t.inbox(holder.runId)).toHaveLength(1);
    },

    "a token with another secret or epoch finishes nothing": async (t) => {
      const { holder, key } = await t.tasks.scheduled({ external: true });
      const task = await t.tasks.read(key);
      expect(await t.tasks.finish(task, COMPLETED, byToken({ secret: secretOf(77) }, t.newId()))).toBe("lost");
      expect(await t.tasks.finish({ ...task, epoch: 1 }, COMPLETED, byToken(task, t.newId()))).toBe("lost");
      expect(await t.tasks.finish({ ...task, seq: 9 }, COMPLETED, byToken(task, t.newId()))).toBe("lost");
      expect(await t.tasks.read(key)).toEqual(task);
      expect(await t.inbox(holder.runId)).toEqual([]);
    },

    "a repeated completion is done, as long as the message is in the inbox": async (t) => {
      const { holder, key } = await t.tasks.scheduled({ external: true });
      const task = await t.tasks.read(key);
      const by = byToken(task, t.newId());
      for (let i = 0; i < 3; i++) expect(await t.tasks.finish(task, COMPLETED, by)).toBe("done");
      expect(await t.inbox(holder.runId)).toHaveLength(1);
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 1 });
      await holder.commit(HOLD, { consumed: 1, results: [1] });
      expect(await t.tasks.finish(task, COMPLETED, by)).toBe("lost");
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 1 });
    },

    "a repeated failure is done, whether the task is kept or not": async (t) => {
      for (const keep of [true, false]) {
        const { holder, key } = await t.tasks.scheduled({ external: true });
        const task = await t.tasks.read(key);
        const by = byToken(task, t.newId());
        expect(await t.tasks.finish(task, failed(keep), by)).toBe("done");
        const left = await t.tasks.find(key);
        expect(await t.tasks.finish(task, failed(keep), by)).toBe("done");
        expect(await t.tasks.finish(task, failed(keep), byToken(task, t.newId()))).toBe("lost");
        expect(await t.tasks.find(key)).toEqual(left);
        expect(await t.inbox(holder.runId)).toHaveLength(1);
      }
    },

    "a repeated retry is done once": async (t) => {
      const { key } = await t.tasks.scheduled({ external: true });
      const task = await t.tasks.read(key);
      const by = byToken(task, t.newId());
      const failures = [failure(1)];
      expect(await t.tasks.finish(task, retried(0, failures), by)).toBe("done");
      expect(await t.tasks.finish(task, retried(0, failures), by)).toBe("done");
      expect(await t.tasks.read(key)).toMatchObject({ status: "external", attempt: 2, epoch: 1, failures });
      expect(await t.tasks.finish(task, retried(0, failures), byToken(task, t.newId()))).toBe("lost");
      expect(await t.tasks.finish(task, retried(0), byToken({ secret: secretOf(77) }, by.finishId))).toBe("lost");
    },

    "a repeated retry is done also if a worker has the next attempt": async (t) => {
      const { task, key } = await t.tasks.held();
      const by = byToken(task, t.newId());
      expect(await t.tasks.finish(task, retried(0), by)).toBe("done");
      await t.tasks.claimOne(await t.worker());
      const taken = await t.tasks.read(key);
      expect(taken).toMatchObject({ status: "held", attempt: 2 });
      expect(await t.tasks.finish(task, retried(0), by)).toBe("done");
      expect(await t.tasks.finish(task, retried(0), byToken(task, t.newId()))).toBe("lost");
      expect(await t.tasks.read(key)).toEqual(taken);
    },

    "an external task that is retried or given back is open again, with a new epoch and new limits": async (t) => {
      const { key, holder } = await t.tasks.scheduled({ external: true, timeoutMs: 100, heartbeatMs: 60 });
      const task = await t.tasks.read(key);
      await t.advance(10);
      expect(await t.tasks.finish(task, retried(0), byToken(task, t.newId()))).toBe("done");
      const second = await t.tasks.read(key);
      expect(second).toMatchObject({
        status: "external",
        epoch: 1,
        attempt: 2,
        availableAt: null,
        expires: "heartbeat",
      });
      expect(second.expiresAt).toBe(t.now + 60);
      expect((await t.tasks.claim(await t.worker())).tasks).toEqual([]);
      expect(await t.tasks.finish(task, COMPLETED, byToken(task, t.newId()))).toBe("lost");
      const finishId = t.newId();
      expect(await t.tasks.finish(second, COMPLETED, byToken(second, finishId))).toBe("done");
      expect(await t.inbox(holder.runId)).toMatchObject([{ messageId: taskMessageId(1, 2, finishId) }]);
    },

    "a held task can be finished with its token, and its holder has lost it": async (t) => {
      const { task, key, holder } = await t.tasks.held();
      expect(await t.tasks.finish(task, COMPLETED, byToken(task, t.newId()))).toBe("done");
      expect(await t.tasks.finish(task, COMPLETED)).toBe("lost");
      expect(await t.tasks.find(key)).toBeNull();
      expect(await t.inbox(holder.runId)).toHaveLength(1);
    },

    "a task that waits for a worker cannot be finished with a token": async (t) => {
      const { key } = await t.tasks.scheduled();
      const task = await t.tasks.read(key);
      expect(await t.tasks.finish(task, COMPLETED, byToken(task, t.newId()))).toBe("lost");
      const claimed = await t.tasks.claimOne(await t.worker());
      await t.tasks.finish(claimed, retried(100));
      const due = await t.tasks.read(key);
      expect(await t.tasks.finish(due, COMPLETED, byToken(due, t.newId()))).toBe("lost");
      expect(await t.tasks.read(key)).toEqual(due);
    },

    "a task that a worker made external is retried by a worker": async (t) => {
      const { task, key } = await t.tasks.held();
      await t.tasks.finish(task, MADE_EXTERNAL);
      const by = byToken(task, t.newId());
      expect(await t.tasks.finish(task, retried(300), by)).toBe("done");
      expect(await t.tasks.finish(task, retried(300), by)).toBe("done");
      expect(await t.tasks.read(key)).toMatchObject({
        status: "due",
        epoch: 2,
        attempt: 2,
        availableAt: t.now + 300,
      });
      await t.advance(300);
      const again = await t.tasks.claimOne(await t.worker());
      expect(again).toMatchObject({ status: "held", epoch: 3, attempt: 2 });
      expect(await t.tasks.finish(again, COMPLETED)).toBe("done");
    },

    "whoever completes after the end of the run hears that it is closed, and then that it is lost": async (t) => {
      const { holder, key } = await t.tasks.scheduled({ external: true });
      const task = await t.tasks.read(key);
      await holder.commit(end());
      const by = byToken(task, t.newId());
      expect(await t.tasks.finish(task, COMPLETED, by)).toBe("closed");
      expect(await t.tasks.finish(task, COMPLETED, by)).toBe("lost");
      expect(await t.tasks.find(key)).toBeNull();
    },

    "the id of one task's finish says nothing about another task": async (t) => {
      const holder = await t.held();
      const keys = await holder.schedule([{ external: true }, { external: true }]);
      const [one, two] = [
        await t.tasks.read(keys[0] as (typeof keys)[0]),
        await t.tasks.read(keys[1] as (typeof keys)[0]),
      ];
      const finishId = t.newId();
      expect(await t.tasks.finish(one, COMPLETED, byToken(one, finishId))).toBe("done");
      await holder.commit(HOLD, { settled: [2] });
      expect(await t.tasks.finish(two, COMPLETED, byToken(two, finishId))).toBe("lost");
    },
  },
};
