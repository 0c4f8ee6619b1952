// The module of the pools under test: every process loads it.
import { appendFileSync, existsSync, watch } from "node:fs";
import path from "node:path";
import { NonRetryableError, type TaskInfo, task } from "holdfast";

export const echo = task("echo", (input: unknown) => input);

export const about = task("about", (_: undefined, t) => ({ pid: process.pid, ppid: process.ppid, runId: t.runId }));

/** Says where it is, and returns when the file is there. */
export const hold = task("hold", async (input: { readonly says: string; readonly until: string }) => {
  appendFileSync(input.says, `${process.pid}\n`);
  await fileExists(input.until);
  return process.pid;
});

/** Dies as often as the file does not have that many lines, then returns. */
export const die = task(
  { name: "die", retry: "none" },
  (input: {
    readonly file: string;
    readonly times: number;
    readonly how: "exit" | "abort" | "throw" | "oom" | "grow";
  }) => dying(input),
);

export const dieOnce = task({ name: "die-once", onCrash: "fail" }, (input: Parameters<typeof dying>[0]) =>
  dying(input),
);

/** Never lets the event loop run again. */
export const block = task({ name: "block", timeout: "1s", retry: "none" }, (says: string) => {
  appendFileSync(says, `${process.pid}\n`);
  for (;;);
});

/** Ignores every request to stop. */
export const deaf = task("deaf", (says: string) => {
  appendFileSync(says, `${process.pid}\n`);
  return new Promise<never>(() => {});
});

/** Stops when it is asked to. */
export const polite = task("polite", async (says: string, t) => {
  appendFileSync(says, `${process.pid}\n`);
  await aborted(t);
  appendFileSync(says, `${(t.signal.reason as { code?: string }).code}\n`);
  t.signal.throwIfAborted();
});

/** As above, with a timeout. */
export const late = task({ name: "late", timeout: "300ms", retry: "none" }, async (says: string, t) => {
  await aborted(t);
  appendFileSync(says, `${process.pid} ${(t.signal.reason as { code?: string }).code}\n`);
});

export const silent = task(
  { name: "silent", heartbeat: "1s", retry: { attempts: 2, fixed: "1ms" } },
  async (_: undefined, t) => {
    if (t.attempt === 1) {
      await t.heartbeat({ row: 1 });
      for (;;);
    }
    return t.lastDetails;
  },
);

/** Its last details survive its death. */
export const resumed = task("resumed", async (_: undefined, t) => {
  if (t.lastDetails !== undefined) return t.lastDetails;
  await t.heartbeat({ row: 7 });
  process.exit(3);
});

export class Refused extends Error {
  readonly status = 403;
}

export const refuse = task({ name: "refuse", retry: "none" }, (): never => {
  throw new Refused("no entry", { cause: new TypeError("the key is bent") });
});

/** The rule is asked in the process, where the class of the error is. */
export const picky = task(
  { name: "picky", retry: { attempts: 3, fixed: "1ms" }, retryIf: (error) => !(error instanceof Refused) },
  (_: undefined, t): never => {
    if (t.attempt === 1) throw new Error("not this one");
    throw new Refused(`attempt ${t.attempt}`);
  },
);

export const final = task("final", (): never => {
  throw new NonRetryableError("never again");
});

/** The header of the answer is not in what the worker gets of the error. */
export const limited = task({ name: "limited", retry: { attempts: 2, fixed: "1ms" } }, (): never => {
  throw Object.assign(new Error("slow down"), { status: 429, headers: new Headers({ "retry-after": "86400" }) });
});

export const chatty = task("chatty", (_: undefined, t) => {
  t.log.info("counted", { lines: 3 });
  t.log.warn({ callback: () => {}, nested: { deep: true } }, "odd fields");
});

export const later = task("later", (tokens: string, t) => {
  appendFileSync(tokens, t.token);
  return t.completeLater();
});

export const huge = task("huge", (bytes: number) => "x".repeat(bytes));

async function dying({
  file,
  times,
  how,
}: {
  readonly file: string;
  readonly times: number;
  readonly how: string;
}): Promise<number> {
  const { readFileSync } = await import("node:fs");
  const before = existsSync(file) ? readFileSync(file, "utf8").length : 0;
  if (before >= times) return before;
  appendFileSync(file, ".");
  if (how === "exit") process.exit(7);
  if (how === "abort") process.abort();
  if (how === "throw")
    // tidy-allow: an error that no caller can catch
    setImmediate(() => {
      throw new RangeError("out of nowhere");
    });
  const kept: unknown[] = [];
  if (how === "oom") for (;;) kept.push(new Array(1_000).fill(kept.length));
  // tidy-allow: memory outside the heap of JavaScript, a little at a time
  if (how === "grow") setInterval(() => kept.push(Buffer.alloc(16 * 1024 * 1024, 1)), 50);
  return new Promise(() => {});
}

function aborted({ signal }: TaskInfo): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
}

function fileExists(file: string): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(path.dirname(file), () => {
      if (!existsSync(file)) return;
      watcher.close();
      resolve();
    });
    if (existsSync(file)) {
      watcher.close();
      resolve();
    }
  });
}
