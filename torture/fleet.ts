/** The worker processes of a campaign. A process that dies is replaced if the fleet is asked to keep its size. */
import { TorturedWorker } from "./tortured-worker.ts";
import { Warden } from "./warden.ts";
import { bundleWorker, type WorkerBundle } from "./worker-bundle.ts";
import type { WorkerRole, WorkerSetup } from "./worker-messages.ts";

export class Fleet {
  readonly #bundle: WorkerBundle;
  readonly #setup: WorkerSetup;
  readonly #warden = new Warden();
  readonly #workers = new Set<TorturedWorker>();
  #effectsFile: string;
  #closed = false;
  #roles: readonly WorkerRole[] = [];
  /** Unexpected deaths, with the last output of the process. */
  readonly accidents: string[] = [];
  deaths = 0;

  private constructor(bundle: WorkerBundle, setup: WorkerSetup) {
    this.#bundle = bundle;
    this.#setup = setup;
    this.#effectsFile = setup.effectsFile;
  }

  static async open(setup: WorkerSetup): Promise<Fleet> {
    return new Fleet(await bundleWorker(), setup);
  }

  get live(): readonly TorturedWorker[] {
    return [...this.#workers];
  }

  /** Those that are not stopped. */
  get awake(): readonly TorturedWorker[] {
    return this.live.filter(({ stopped }) => !stopped);
  }

  spawn(different: Partial<WorkerSetup> = {}): TorturedWorker {
    const setup = { ...this.#setup, effectsFile: this.#effectsFile, ...different };
    const worker = new TorturedWorker(this.#bundle.file, setup, this.#warden);
    this.#workers.add(worker);
    void worker.exited.then((signal) => {
      this.#workers.delete(worker);
      if (this.#closed) return;
      this.deaths += 1;
      if (signal !== "SIGKILL" && worker.stderr !== "") this.accidents.push(`${signal ?? "exit"}: ${worker.stderr}`);
      this.#fill();
    });
    return worker;
  }

  /** From now on keeps a worker of each of these roles, or this many that do everything; resolves when the first of them work. */
  async keep(workers: number | readonly WorkerRole[]): Promise<void> {
    this.#roles = typeof workers === "number" ? Array.from({ length: workers }, () => "both") : workers;
    this.#fill();
    await Promise.all(this.live.map(({ ready }) => ready));
  }

  /** Kills all of them, and keeps none. */
  async clear(): Promise<void> {
    this.#roles = [];
    await this.#killAll();
  }

  async useEffectsFile(path: string): Promise<void> {
    this.#effectsFile = path;
    await Promise.all(this.live.map((worker) => worker.useEffectsFile(path).catch(() => {})));
  }

  continueAll(): void {
    for (const worker of this.live) if (worker.stopped) worker.continue();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#killAll();
    this.#warden.close();
    this.#bundle.remove();
  }

  async #killAll(): Promise<void> {
    const all = this.live;
    for (const worker of all) worker.kill();
    await Promise.all(all.map(({ exited }) => exited));
  }

  #fill(): void {
    if (this.#closed) return;
    const present = this.live.map(({ role }) => role);
    for (const role of this.#roles) {
      const at = present.indexOf(role);
      if (at >= 0) present.splice(at, 1);
      else this.spawn({ role });
    }
  }
}
