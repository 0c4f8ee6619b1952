/** A process of a measurement, seen from the bench. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { EngineDefinition, Figures } from "./engine.ts";
import type { Job } from "./inside.ts";

const CHILD = fileURLToPath(new URL("child.ts", import.meta.url));
const PEERS = fileURLToPath(new URL("../peers", import.meta.url));
/** The first release that loads TypeScript natively; it is newer than any peer requires. */
const PEER_NODE_MIN = [22, 18] as const;

export interface SeatParams {
  readonly job: Job;
  readonly definition: EngineDefinition;
  /** Load the sources of Holdfast instead of the build. */
  readonly sources: boolean;
  readonly onMark: (name: string) => Promise<void>;
}

type Message =
  | { readonly type: "mark"; readonly name: string }
  | { readonly type: "figures"; readonly figures: Figures }
  | { readonly type: "failed"; readonly message: string };

export class Seat {
  readonly figures: Promise<Figures>;
  readonly exited: Promise<NodeJS.Signals | null>;
  readonly #child: ChildProcess;
  readonly #marks = new Map<string, PromiseWithResolvers>();

  constructor({ job, definition, sources, onMark }: SeatParams) {
    const logFile = path.join(job.folder, `${job.part}-${process.hrtime.bigint()}.log`);
    const log = openSync(logFile, "a");
    const peer = definition.kind === "engine" || definition.kind === "queue";
    const loader = ["--import", "tsx", ...(sources ? ["--conditions=holdfast-source"] : [])];
    const child = definition.tree ? path.join(definition.tree, "bench", "lab", "child.ts") : CHILD;
    const named = { ...job, engine: job.engine.replace(/@.*/, "") };
    const args = ["--no-warnings", "--expose-gc", ...(peer ? [] : loader), child, JSON.stringify(named)];
    const env = { ...process.env, NODE_ENV: "production", NODE_OPTIONS: "" };
    this.#child = spawn(peer ? peerNode() : process.execPath, args, { stdio: ["ignore", log, log, "ipc"], env });
    closeSync(log);
    this.exited = new Promise((resolve) => this.#child.once("exit", (_code, signal) => resolve(signal)));
    this.figures = new Promise((resolve, reject) => {
      this.#child.on("message", (message: Message) => {
        if (message.type === "figures") resolve(message.figures);
        else if (message.type === "failed") reject(new Error(`${definition.name}: ${message.message}`));
        else void this.#marked(message.name, onMark).catch(reject);
      });
      this.#child.once("error", reject);
      this.#child.once("exit", (code, signal) =>
        reject(new Error(`${definition.name} ended early (${signal ?? code}): ${tailOf(logFile)}`)),
      );
    });
    this.figures.catch(() => {});
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves when the process has passed a mark. */
  passed(mark: string): Promise<void> {
    return Promise.race([this.#mark(mark).promise, this.figures.then(() => {})]);
  }

  tell(word: string): void {
    // If the process is gone, its exit reports that.
    this.#child.send({ type: word }, () => {});
  }

  async end(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill("SIGKILL");
    await this.exited;
  }

  async #marked(name: string, onMark: (name: string) => Promise<void>): Promise<void> {
    await onMark(name);
    this.#mark(name).resolve();
    this.tell("marked");
  }

  #mark(name: string): PromiseWithResolvers {
    const known = this.#marks.get(name) ?? promiseWithResolvers();
    this.#marks.set(name, known);
    return known;
  }
}

interface PromiseWithResolvers {
  readonly promise: Promise<void>;
  resolve(): void;
}

function promiseWithResolvers(): PromiseWithResolvers {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** This Node if it is new enough, else the one installed by bench/peers. */
export function peerNode(): string {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const newEnough = major > PEER_NODE_MIN[0] || (major === PEER_NODE_MIN[0] && minor >= PEER_NODE_MIN[1]);
  return newEnough
    ? process.execPath
    : path.join(PEERS, "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");
}

function tailOf(file: string): string {
  try {
    return readFileSync(file, "utf8").slice(-1500);
  } catch {
    return "";
  }
}
