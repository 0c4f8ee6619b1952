import { ASK_TAKE_MS, type Ask, type AskAnswer, type NewAsk } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../../fixture.ts";
import { bytes, errorRecord } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const YES: AskAnswer = { type: "answered", payload: bytes('"yes"') };
const FAILED: AskAnswer = { type: "failed", error: errorRecord("no such query") };
const HANDLERS = [{ workflow: "order", version: "1" }];

/** Queries that wait for a worker which has the code: taken by one, answered once, gone in time. */
export const asks: Suite = {
  noun: "asks",
  cases: {
    "a question is taken with all that was asked, answered, and read": async (t) => {
      const asked = await ask(t, { name: "total", payload: bytes("[1]") });
      const { ttlMs: _ttl, ...question } = asked;
      expect(await read(t, asked)).toBeNull();
      expect(await take(t)).toEqual({ asks: [question], more: false });
      await answer(t, asked, YES);
      expect(await read(t, asked)).toEqual(YES);
      const other = await ask(t);
      await answer(t, other, FAILED);
      expect(await t.store.asks.read({ asks: [other, asked].map(keyOf) })).toEqual([FAILED, YES]);
    },

    "a question is taken by one worker, the oldest first": async (t) => {
      const asked: string[] = [];
      for (let i = 0; i < 3; i++) {
        asked.push((await ask(t)).askId);
        await t.advance(1);
      }
      const first = await take(t, { limit: 2 });
      expect([first.asks.map(({ askId }) => askId), first.more]).toEqual([asked.slice(0, 2), true]);
      const second = await take(t, { limit: 2 });
      expect([second.asks.map(({ askId }) => askId), second.more]).toEqual([asked.slice(2), false]);
      expect(await take(t)).toEqual({ asks: [], more: false });
    },

    "a question whose worker does not answer is open again": async (t) => {
      const asked = await ask(t);
      await take(t);
      await t.advance(ASK_TAKE_MS - 1);
      expect((await take(t)).asks).toEqual([]);
      await t.advance(1);
      expect((await take(t)).asks).toMatchObject([{ askId: asked.askId }]);
      expect((await take(t)).asks).toEqual([]);
      await answer(t, asked, YES);
      await t.advance(ASK_TAKE_MS);
      expect((await take(t)).asks).toEqual([]);
    },

    "only workers that have the code take it, in its namespace": async (t) => {
      await ask(t, { workflow: "order", version: "2" });
      await ask(t, { workflow: "refund", version: "1", namespace: "other" });
      for (const handlers of [HANDLERS, [{ workflow: "refund", version: "1" }], []])
        expect(await take(t, { handlers })).toEqual({ asks: [], more: false });
      const both = [...HANDLERS, { workflow: "order", version: "2" }];
      expect((await take(t, { handlers: both })).asks).toMatchObject([{ version: "2" }]);
      const there = { namespace: "other", handlers: [{ workflow: "refund", version: "1" }] };
      expect((await take(t, there)).asks).toMatchObject([{ namespace: "other" }]);
    },

    "the first answer counts": async (t) => {
      const asked = await ask(t);
      await answer(t, asked, YES);
      await answer(t, asked, FAILED);
      expect(await read(t, asked)).toEqual(YES);
      await t.store.asks.answer({ answers: [FAILED, YES].map((one) => ({ ...keyOf(asked), answer: one })) });
      expect(await read(t, asked)).toEqual(YES);
    },

    "a question that is repeated changes nothing": async (t) => {
      const asked = await ask(t);
      await take(t);
      await t.store.asks.ask({ asks: [asked] });
      expect((await take(t)).asks).toEqual([]);
      await answer(t, asked, YES);
      await t.store.asks.ask({ asks: [{ ...asked, ttlMs: 100_000 }] });
      expect(await read(t, asked)).toEqual(YES);
      await t.advance(asked.ttlMs);
      expect(await read(t, asked)).toBeNull();
    },

    "a question is gone when its time is over, answered or not": async (t) => {
      const [open, answered] = [await ask(t, { ttlMs: 50 }), await ask(t, { ttlMs: 50 })];
      await answer(t, answered, YES);
      await t.advance(49);
      expect(await read(t, answered)).toEqual(YES);
      await t.advance(1);
      expect(await read(t, answered)).toBeNull();
      expect((await take(t)).asks).toEqual([]);
      await answer(t, open, YES);
      expect(await read(t, open)).toBeNull();
    },

    "a question that was forgotten is gone, and others are not": async (t) => {
      const [asked, other] = [await ask(t), await ask(t)];
      await answer(t, asked, YES);
      await answer(t, other, YES);
      await t.store.asks.forget({ asks: [keyOf(asked)] });
      await t.store.asks.forget({ asks: [keyOf(asked)] });
      expect(await read(t, asked)).toBeNull();
      expect(await read(t, other)).toEqual(YES);
      await answer(t, asked, YES);
      expect(await read(t, asked)).toBeNull();
    },

    "a question of another namespace can neither be answered nor read nor forgotten": async (t) => {
      const asked = await ask(t);
      const foreign = { ...asked, namespace: "other" };
      await answer(t, foreign, FAILED);
      expect(await read(t, asked)).toBeNull();
      await answer(t, asked, YES);
      expect(await read(t, foreign)).toBeNull();
      await t.store.asks.forget({ asks: [keyOf(foreign)] });
      expect(await read(t, asked)).toEqual(YES);
    },
  },
};

async function ask(t: Fixture, fields: Partial<NewAsk> = {}): Promise<NewAsk> {
  const about = { namespace: "default", workflow: "order", version: "1", name: "total", payload: bytes("[]") };
  const runId = (await t.start({ namespace: fields.namespace ?? "default" })).run.runId;
  const asked = { askId: t.newId(), runId, ...about, ttlMs: 10_000, ...fields };
  await t.store.asks.ask({ asks: [asked] });
  return asked;
}

function take(t: Fixture, fields: Partial<Parameters<Fixture["store"]["asks"]["take"]>[0]> = {}) {
  return t.store.asks.take({ namespace: "default", handlers: HANDLERS, limit: 10, ...fields });
}

function answer(t: Fixture, asked: NewAsk, given: AskAnswer): Promise<void> {
  return t.store.asks.answer({ answers: [{ ...keyOf(asked), answer: given }] });
}

async function read(t: Fixture, asked: NewAsk): Promise<AskAnswer | null | undefined> {
  return (await t.store.asks.read({ asks: [keyOf(asked)] }))[0];
}

function keyOf({ namespace, askId }: Ask | NewAsk) {
  return { namespace, askId };
}
