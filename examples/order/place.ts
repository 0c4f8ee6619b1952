// Where the example takes place: which store it runs on, and how worker A comes to life and dies.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type Client, connect, type Logger } from "holdfast";
import { MemoryNotifier, MemoryStore } from "holdfast/testing";
import { clientOn, realClock, serveStore } from "./store-link.ts";
import type { Line } from "./tell.ts";

export interface Place {
  readonly url: string;
  connect(log: Logger): Promise<Client>;
  /** Starts worker A in a process of its own and waits until it works. Its lines are handed to `onLine`. */
  startWorkerA(onLine: (line: Line) => void): Promise<Doomed>;
}

/** A worker that is going to be killed. */
export interface Doomed {
  readonly pid: number | undefined;
  /** SIGKILL: the process gets no chance to clean up, to sign off or to give anything back. */
  kill(): Promise<void>;
}

/** `memory:` keeps the store in this process; any other URL is opened by both processes. */
export function openPlace(url: string): Place {
  if (url !== "memory:") {
    return { url, connect: (logger) => connect(url, { logger }), startWorkerA: (onLine) => startWorkerA(url, onLine) };
  }
  const notifier = new MemoryNotifier(realClock);
  const store = new MemoryStore({ clock: realClock, notifier });
  return {
    url,
    connect: async (log) => clientOn(store, notifier, log),
    startWorkerA: (onLine) => startWorkerA(url, onLine, (child) => serveStore(child, store, notifier)),
  };
}

async function startWorkerA(
  url: string,
  onLine: (line: Line) => void,
  serve: (child: ChildProcess) => () => void = () => () => {},
): Promise<Doomed> {
  const child = fork(new URL("./worker-a.ts", import.meta.url), [url], { serialization: "advanced" });
  const stopServing = serve(child);
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
      stopServing();
    },
  };
}
