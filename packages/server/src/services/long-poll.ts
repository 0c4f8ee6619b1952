/** Waiting on behalf of a caller: never longer than proxies allow, nor past the caller or the server. */
import { type Clock, HoldfastError } from "holdfast/adapter";
import type { Call } from "./call.ts";

/** Proxies commonly cut what is silent for 60 seconds, some after 30. */
export const POLL_MS_MAX = 20_000;

/** A poll that comes while the server drains is answered after this pause, so that nobody asks in a tight loop. */
const DRAINING_PAUSE_MS = 250;

/** How long to wait: 0 means as long as possible, a negative number not at all. */
export function pollMs(asked: bigint, field: string): number {
  if (asked > BigInt(POLL_MS_MAX)) {
    const message = `${field} is ${asked}; at most ${POLL_MS_MAX} ms are waited. Call again.`;
    throw new HoldfastError("invalid_argument", message, { data: { argument: field } });
  }
  return asked === 0n ? POLL_MS_MAX : asked < 0n ? 0 : Number(asked);
}

/** Resolves when the time is up, the caller has gone, or the server begins to drain; soon if it drains already. */
export function patience(clock: Clock, ms: number, { signal, draining }: Call): { over: Promise<void>; end(): void } {
  let end = (): void => {};
  const over = new Promise<void>((resolve) => {
    const timer = clock.setTimer(draining.aborted ? Math.min(ms, DRAINING_PAUSE_MS) : ms, () => end());
    const stop = (): void => end();
    signal.addEventListener("abort", stop);
    draining.addEventListener("abort", stop);
    end = () => {
      timer.cancel();
      signal.removeEventListener("abort", stop);
      draining.removeEventListener("abort", stop);
      resolve();
    };
    if (signal.aborted) end();
  });
  return { over, end: () => end() };
}
