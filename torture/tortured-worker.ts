/** One worker process, seen from the harness. */
import { type ChildProcess, fork } from "node:child_process";
import type { Readable } from "node:stream";
import type { Point } from "./named-points.ts";
import type { Warden } from "./warden.ts";
import type {
  FinishOrder,
  FromWorker,
  PointAction,
  SayOrder,
  StartOrder,
  ToWorker,
  WorkerFacts,
  WorkerRole,
  WorkerSetup,
} from "./worker-messages.ts";
import { HOLDS, POINT_FD } from "./worker-messages.ts";

const STDERR_KEPT = 4_000;

type Answered = Extract<FromWorker, { readonly type: "answer" }>;

interface Waiting {
  readonly resolve: (answer: Answered) => void;
  readonly reject: (error: Error) => void;
}

export class TorturedWorker {
  readonly pid: number;
  readonly role: WorkerRole;
  /** Settles when the process is gone and all that it has said was heard, with the signal that ended it. */
  readonly exited: Promise<NodeJS.Signals | null>;
  readonly ready: Promise<void>;
  readonly drained: Promise<void>;
  /** The points at which it died or stopped itself. */
  readonly reached: string[] = [];
  /** Whether it held parents and children when it last said so. */
  holds = "";
  alive = true;
  stopped = false;
  readonly #child: ChildProcess;
  readonly #requests = new Map<number, Waiting>();
  readonly #listeners = new Set<() => void>();
  #count = 0;
  #stderr = "";
  #heard = false;

  /** `program`: the bundled worker process. */
  constructor(program: string, setup: WorkerSetup, warden: Warden) {
    const stdio = ["ignore", "ignore", "pipe", "ipc", "pipe"] as const;
    this.#child = fork(program, [JSON.stringify(setup)], { stdio: [...stdio], execArgv: [], env: workerEnv() });
    this.role = setup.role ?? "both";
    this.pid = this.#child.pid ?? 0;
    warden.watch(this.pid);
    this.#child.stderr?.on("data", (data) => {
      this.#stderr = (this.#stderr + String(data)).slice(-STDERR_KEPT);
    });
    this.exited = new Promise((resolve) => {
      this.#child.once("exit", (_code, signal) => {
        this.alive = false;
        warden.forget(this.pid);
        const gone = new Error(`worker process ${this.pid} has ended (${signal ?? "without a signal"})`);
        for (const { reject } of this.#requests.values()) reject(gone);
        this.#requests.clear();
      });
      // Not "exit": on a busy machine that comes before the last line, which names the point at which the process has died.
      this.#child.once("close", (_code, signal) => {
        this.#heard = true;
        resolve(signal);
        this.#changed();
      });
    });
    (this.#child.stdio[POINT_FD] as Readable).on("data", (data) => {
      for (const line of String(data).split("\n").filter(Boolean))
        if (line.startsWith(HOLDS)) this.holds = line.slice(HOLDS.length);
        else this.reached.push(line);
      this.#changed();
    });
    let isReady: () => void = () => {};
    let isDrained: () => void = () => {};
    let isBroken: (error: Error) => void = () => {};
    this.ready = new Promise((resolve, reject) => {
      isReady = resolve;
      isBroken = reject;
    });
    this.drained = new Promise((resolve) => {
      isDrained = resolve;
    });
    this.ready.catch(() => {});
    void this.exited.then((signal) => isBroken(new Error(`worker process ended (${signal}): ${this.#stderr}`)));
    this.#child.on("message", (message: FromWorker) => {
      if (message.type === "ready") isReady();
      else if (message.type === "drained") isDrained();
      else if (message.type === "answer") this.#settle(message.request)?.resolve(message);
      else if (message.request === null) isBroken(new Error(message.error));
      else this.#settle(message.request)?.reject(Object.assign(new Error(message.error), { code: message.code }));
    });
  }

  get stderr(): string {
    return this.#stderr;
  }

  arm(point: Point, action: PointAction = "kill", skip = 0): void {
    this.reached.length = 0;
    this.#send({ type: "arm", point, action, skip });
  }

  drain(): void {
    this.#send({ type: "drain" });
  }

  openGate(): void {
    this.#send({ type: "open-gate" });
  }

  ask(): Promise<WorkerFacts> {
    return this.#request((request) => ({ type: "ask", request }));
  }

  /** Starts runs in this very process, which then holds them from the first moment. */
  start(runs: readonly StartOrder[]): Promise<WorkerFacts> {
    return this.#request((request) => ({ type: "start", request, runs }));
  }

  /** Finishes a task with its token, from that process. */
  finish(order: FinishOrder): Promise<WorkerFacts> {
    return this.#request((request) => ({ type: "finish", request, order }));
  }

  /** Says something to a run, from that process, and resolves with the answer. */
  async say(order: SayOrder): Promise<unknown> {
    return (await this.#ask((request) => ({ type: "say", request, order }))).value;
  }

  useEffectsFile(path: string): Promise<WorkerFacts> {
    return this.#request((request) => ({ type: "effects-file", request, path }));
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  continue(): void {
    this.stopped = false;
    this.#child.kill("SIGCONT");
  }

  /** Resolves when it has reached the point that it was armed with. */
  untilReached(): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const point = this.reached.at(-1);
        if (point === undefined && !this.#heard) return;
        this.#listeners.delete(look);
        if (point !== undefined) resolve(point);
        else reject(new Error(`worker process ${this.pid} died elsewhere: ${this.#stderr}`));
      };
      this.#listeners.add(look);
      look();
    });
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  #settle(request: number): Waiting | undefined {
    const waiting = this.#requests.get(request);
    this.#requests.delete(request);
    return waiting;
  }

  async #request(message: (request: number) => ToWorker): Promise<WorkerFacts> {
    return (await this.#ask(message)).facts;
  }

  #ask(message: (request: number) => ToWorker): Promise<Answered> {
    this.#count += 1;
    const request = this.#count;
    return new Promise((resolve, reject) => {
      if (!this.alive) return reject(new Error(`worker process ${this.pid} has ended`));
      this.#requests.set(request, { resolve, reject });
      this.#send(message(request));
    });
  }

  #send(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }
}

/** Without the variables that a test runner sets for its own processes. */
function workerEnv(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_V8_COVERAGE: _coverage, ...env } = process.env;
  return env;
}
