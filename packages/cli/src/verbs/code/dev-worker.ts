/**
 * The worker of `dev`: a process that is replaced when a file changes. The new one loads its code first; only if that works is the old one
 * drained. Until then, and if it does not work, the old one goes on.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { type FSWatcher, watch } from "node:fs";
import path from "node:path";
import type { Call } from "../../command/call.ts";
import { harmless } from "../../output/width.ts";
import { DEV_DRAIN, DEV_URL, type FromChild, type ToChild } from "./dev-messages.ts";
import { programOf } from "./own-programs.ts";

/** Editors write a file in several steps. */
const SETTLE_MS = 80;

export interface DevOptions {
  readonly url: string;
  readonly namespace: string;
  readonly files: readonly string[];
  /** How long running steps have when their process is drained; undefined: as long as in any worker. */
  readonly drainTimeout: string | undefined;
}

interface Loaded {
  readonly text: string;
  readonly workflows: readonly string[];
}

export class DevWorker {
  readonly #call: Call;
  readonly #options: DevOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #ended = new Set<Promise<void>>();
  readonly #files = new Set<string>();
  #current: ChildProcess | undefined;
  /** It has been started and has not begun. */
  #loading: ChildProcess | undefined;
  #reloading: Promise<void> | undefined;
  #changed = false;
  #stopped = false;

  constructor(call: Call, options: DevOptions) {
    this.#call = call;
    this.#options = options;
    for (const file of options.files) this.#files.add(path.resolve(call.io.cwd, file));
  }

  /** Loads the code and begins. Undefined if it cannot be loaded: then a change is waited for. */
  async load(): Promise<Loaded | undefined> {
    if (this.#stopped) return undefined;
    const child = this.#spawn();
    this.#loading = child;
    const answer = await this.#answerOf(child);
    // `stop` has ended it.
    if (this.#stopped) return undefined;
    this.#loading = undefined;
    for (const file of answer?.files ?? []) this.#files.add(file);
    this.#watch();
    if (answer?.event !== "loaded") {
      const { errorPaint } = this.#call.out;
      const message = answer?.event === "failed" ? answer.message : "Its process ended before the code was loaded.";
      const kept = this.#current ? "The code from before goes on" : "Nothing is executed until it can be loaded";
      this.#call.out.note(`${errorPaint.red("✗")} ${harmless(message)}\n${errorPaint.dim(`  ${kept}.`)}`);
      this.#call.out.record({ event: "not_loaded", message });
      return undefined;
    }
    this.#drain();
    this.#current = child;
    const working = new Promise<void>((resolve) => {
      child.on("message", (message: FromChild) => message.event === "working" && resolve());
      child.once("exit", () => resolve());
    });
    send(child, "begin");
    await working;
    return { text: answer.what, workflows: answer.workflows };
  }

  #watch(): void {
    for (const file of this.#files) this.#watchFolder(path.dirname(file));
  }

  /** Drains, and resolves when all processes have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const watcher of this.#watchers.values()) watcher.close();
    // The hard way: code that never finishes loading hears nothing else, and nothing has begun that could be drained.
    this.#loading?.kill("SIGKILL");
    await this.#reloading;
    this.#drain();
    await Promise.all(this.#ended);
  }

  /** Folders and not files: an editor that writes a new file in place of the old one would end the watch. */
  #watchFolder(folder: string): void {
    if (this.#watchers.has(folder)) return;
    const watcher = watch(folder, (_event, name) => {
      if (name === null || this.#files.has(path.join(folder, name))) void this.#onChange();
    });
    watcher.on("error", () => watcher.close());
    this.#watchers.set(folder, watcher);
  }

  async #onChange(): Promise<void> {
    this.#changed = true;
    this.#reloading ??= this.#reload().finally(() => {
      this.#reloading = undefined;
    });
    await this.#reloading;
  }

  async #reload(): Promise<void> {
    const { io, out } = this.#call;
    while (this.#changed && !this.#stopped) {
      await io.wait(SETTLE_MS, io.interrupted);
      this.#changed = false;
      const began = io.now();
      const loaded = await this.load();
      if (loaded && !this.#stopped) {
        out.line(`${out.paint.green("↻")} Reloaded ${loaded.text} ${out.paint.dim(`in ${io.now() - began} ms`)}`);
        out.record({ event: "reloaded", workflows: loaded.workflows });
      }
    }
  }

  #drain(): void {
    if (this.#current) send(this.#current, "drain");
    this.#current = undefined;
  }

  #spawn(): ChildProcess {
    const { io } = this.#call;
    const { url, namespace, files, drainTimeout } = this.#options;
    const codec = this.#call.codecFile;
    const child = spawn(io.self.program, [...io.self.nodeArgs, programOf("dev-child"), namespace, ...files], {
      cwd: io.cwd,
      env: {
        ...io.env,
        // Not an argument: everybody on the machine can read those, and it may have a password.
        [DEV_URL]: url,
        ...(drainTimeout === undefined ? {} : { [DEV_DRAIN]: drainTimeout }),
        ...(codec === undefined ? {} : { HOLDFAST_CODEC: codec }),
        ...(io.stderr.isTTY === true && !io.env["NO_COLOR"] ? { FORCE_COLOR: "1" } : {}),
      },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    child.stdout?.on("data", (text) => void io.stderr.write(String(text)));
    child.stderr?.on("data", (text) => void io.stderr.write(String(text)));
    const ended = new Promise<void>((resolve) => {
      child.once("exit", (code, signal) => {
        this.#onExit(child, code, signal);
        resolve();
      });
      child.once("error", () => resolve());
    });
    this.#ended.add(ended);
    void ended.then(() => this.#ended.delete(ended));
    return child;
  }

  /** The user's code may end its process; then it is started again with the next change. */
  #onExit(child: ChildProcess, code: number | null, signal: string | null): void {
    if (child !== this.#current) return;
    this.#current = undefined;
    if (this.#stopped) return;
    const { out } = this.#call;
    out.note(
      `${out.errorPaint.red("✗")} The worker's process ended (${signal ?? `code ${code}`}). Change a file to start it again.`,
    );
    out.record({ event: "worker_ended", code, signal });
  }

  #answerOf(child: ChildProcess): Promise<Exclude<FromChild, { event: "working" }> | undefined> {
    return new Promise((resolve) => {
      child.on("message", (message: FromChild) => message.event !== "working" && resolve(message));
      child.once("exit", () => resolve(undefined));
      child.once("error", () => resolve(undefined));
    });
  }
}

function send(child: ChildProcess, message: ToChild): void {
  if (child.connected) child.send(message, () => {});
}
