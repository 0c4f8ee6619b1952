/** Shared by several workloads: start many runs, wait until the store has all their ends, compute quantiles. */
import type { Engine, Figures, Kind } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";

const LIMIT_MS = 90_000;

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** f(0) … f(n - 1), at most `width` of them in flight. */
export async function flood(n: number, width: number, f: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const runLoop = async (): Promise<void> => {
    while (next < n) {
      const i = next;
      next += 1;
      await f(i);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, n) }, runLoop));
}

/** A body that has returned is not durable yet: asks the store until nothing is open but `others`, which stay open. */
export async function settle(engine: Engine, others = 0): Promise<void> {
  while ((await engine.pending()) > others) await pause(3);
}

/** A workload that takes too long fails with a message. */
export async function within<T>(work: Promise<T>, what: string, ms = LIMIT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not done after ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets the engine do the same work before the clock starts. */
export async function warm(
  { engine, hooks, size }: Inside,
  steps: number,
  kind: Kind = "seq",
  stage = "",
): Promise<void> {
  const runs = size["warm"] ?? 100;
  const others = await engine.pending();
  const all = hooks.untilFinished(runs);
  await flood(runs, 50, (i) => engine.start(kind, `warm-${kind}${stage}-${i}`, steps));
  await within(
    all.then(() => settle(engine, others)),
    "warm-up",
  );
}

export interface Drive {
  readonly kind: Kind;
  /** What the ids of the runs begin with. */
  readonly name: string;
  readonly runs: number;
  readonly arg: number;
  /** Start through the engine's bulk call. */
  readonly bulk?: boolean;
}

/**
 * Starts all runs as fast as the engine accepts them, 200 starts in flight, while the engine executes them. Seconds until all
 * starts, and until all ends, are in the store.
 */
export async function drive(
  { engine, hooks, size }: Inside,
  { kind, name, runs, arg, bulk = false }: Drive,
): Promise<{ readonly seconds: number; readonly startSeconds: number }> {
  const { starting = 200, chunk = 500 } = size;
  const others = await engine.pending();
  const ids = Array.from({ length: runs }, (_, i) => `${name}-${i}`);
  const all = hooks.untilFinished(runs);
  const began = performance.now();
  if (bulk) for (let i = 0; i < runs; i += chunk) await engine.startMany?.(kind, ids.slice(i, i + chunk), () => arg);
  else await flood(runs, starting, (i) => engine.start(kind, ids[i] as string, arg));
  const startSeconds = (performance.now() - began) / 1000;
  await within(
    all.then(() => settle(engine, others)),
    `${runs} runs`,
  );
  return { seconds: (performance.now() - began) / 1000, startSeconds };
}

/** Many runs of sequential steps. */
export async function throughput(inside: Inside, { bulk }: { readonly bulk: boolean }): Promise<Figures> {
  const { hooks, size, mark } = inside;
  const { runs = 0, steps = 1 } = size;
  await warm(inside, steps);
  await mark("begin");
  const stepsBefore = hooks.steps;
  const { seconds, startSeconds } = await drive(inside, { kind: "seq", name: "w", runs, arg: steps, bulk });
  await mark("finish");
  const did = hooks.steps - stepsBefore;
  return {
    runs,
    steps: did,
    stepsTooMany: did - runs * steps,
    seconds,
    runsPerSecond: runs / seconds,
    stepsPerSecond: did / seconds,
    startsPerSecond: runs / startSeconds,
  };
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? Number.NaN;
}
