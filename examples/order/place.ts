// Where the example takes place: which store it uses, and how worker A starts and dies.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Line } from "./tell.ts";

export interface Place {
  readonly url: string;
  /** Removes what was made for the example. */
  leave(): void;
}

/** A worker that will be killed. */
export interface Doomed {
  readonly pid: number | undefined;
  /** SIGKILL: the process gets no chance to clean up, to stop properly or to release its runs. */
  kill(): Promise<void>;
}

/** A fresh SQLite file, unless a store is named: then that one is used, and left as it is. */
export function openPlace(url: string | undefined): Place {
  if (url !== undefined) return { url, leave() {} };
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-order-"));
  return {
    url: `file:${path.join(folder, "orders.db")}`,
    leave: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Starts worker A in a separate process and waits until it works. Its lines are passed to `onLine`. */
export async function startWorkerA(url: string, onLine: (line: Line) => void): Promise<Doomed> {
  const child = fork(new URL("./worker-a.ts", import.meta.url), [url]);
  const exited = once(child, "exit");
  await new Promise<void>((resolve, reject) => {
    child.on("message", (message: { readonly ready?: true; readonly line?: Line }) => {
      if (message.ready) resolve();
      if (message.line) onLine(message.line);
    });
    void exited.then(() => reject(new Error("worker A ended before it was killed")));
  });
  return {
    pid: child.pid,
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
