import { ASK_TAKE_MS, isOpenAsk } from "../model/decisions/ask.ts";
import type {
  AnswerAsksParams,
  AskAnswer,
  PutAsksParams,
  ReadAsksParams,
  TakeAsksParams,
  TakeAsksResult,
} from "../ports/store.ts";
import type { AskRecord, MemoryState } from "./state.ts";

export function putAsks(state: MemoryState, { asks }: PutAsksParams, now: number): void {
  forgetOld(state, now);
  for (const ask of asks) {
    if (state.asks.has(ask.askId)) continue;
    state.asks.set(ask.askId, { ...ask, goneAt: now + ask.ttlMs, openAt: now, answer: null });
    state.hints.push({ type: "asked", namespace: ask.namespace });
  }
}

export function takeAsks(state: MemoryState, params: TakeAsksParams, now: number): TakeAsksResult {
  forgetOld(state, now);
  const { namespace, handlers, limit } = params;
  const open = [...state.asks.values()].filter(
    (ask) =>
      ask.namespace === namespace &&
      isOpenAsk({ answered: ask.answer !== null, openAt: ask.openAt }, now) &&
      handlers.some(({ workflow, version }) => ask.workflow === workflow && ask.version === version),
  );
  const taken = open.slice(0, limit);
  for (const ask of taken) ask.openAt = now + ASK_TAKE_MS;
  const asks = taken.map(({ askId, namespace, runId, workflow, version, name, payload }) => {
    return { askId, namespace, runId, workflow, version, name, payload };
  });
  return { asks, more: open.length > taken.length };
}

export function answerAsks(state: MemoryState, { answers }: AnswerAsksParams, now: number): void {
  forgetOld(state, now);
  for (const { namespace, askId, answer } of answers) {
    const ask = askIn(state, namespace, askId);
    if (!ask || ask.answer !== null) continue;
    ask.answer = answer;
    state.hints.push({ type: "answered", askId });
  }
}

export function readAsks(state: MemoryState, { asks }: ReadAsksParams, now: number): (AskAnswer | null)[] {
  forgetOld(state, now);
  return asks.map(({ namespace, askId }) => askIn(state, namespace, askId)?.answer ?? null);
}

export function forgetAsks(state: MemoryState, { asks }: ReadAsksParams): void {
  for (const { namespace, askId } of asks) if (askIn(state, namespace, askId)) state.asks.delete(askId);
}

function askIn(state: MemoryState, namespace: string, askId: string): AskRecord | undefined {
  const ask = state.asks.get(askId);
  return ask?.namespace === namespace ? ask : undefined;
}

function forgetOld(state: MemoryState, now: number): void {
  for (const [askId, { goneAt }] of state.asks) if (goneAt <= now) state.asks.delete(askId);
}
