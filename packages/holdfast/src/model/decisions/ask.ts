/** How long a worker may take for its answer to a query before another worker may take the query: it may have died. */
export const ASK_TAKE_MS = 3_000;

/** Whether a worker may take it. `openAt`: when it was put, or `ASK_TAKE_MS` after it was last taken. */
export function isOpenAsk(ask: { readonly answered: boolean; readonly openAt: number }, now: number): boolean {
  return !ask.answered && ask.openAt <= now;
}
