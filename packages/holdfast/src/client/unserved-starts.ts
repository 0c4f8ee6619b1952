/**
 * Warns about started runs that no worker can claim: the most common reason why a first program hangs. It reads the
 * list of workers a few seconds after the first start of a workflow, and then not for a while, so a start costs
 * nothing.
 */
import type { Run } from "../model/run.ts";
import { isAlive, isOverdue, offers } from "../model/worker-row.ts";
import type { Timer } from "../ports/clock.ts";
import type { ClientCore } from "./client-core.ts";

const LOOK_AFTER_MS = 5_000;
const LOOK_AGAIN_MS = 60_000;
const WORKFLOWS_MAX = 1_000;

type Started = Pick<Run, "id" | "workflow" | "version" | "queue">;

export class UnservedStarts {
  readonly #core: ClientCore;
  /** When to look again, by workflow and queue. */
  readonly #lookedAt = new Map<string, number>();
  readonly #timers = new Set<Timer>();

  constructor(core: ClientCore) {
    this.#core = core;
  }

  /** A run was created that is due and that no worker of this client has claimed. */
  started(run: Started): void {
    const { clock } = this.#core.ports;
    const key = `${run.workflow}@${run.version} ${run.queue}`;
    const now = clock.monotonic();
    const again = this.#lookedAt.get(key);
    if (again !== undefined && now < again) return;
    if (this.#lookedAt.size >= WORKFLOWS_MAX) this.#lookedAt.clear();
    this.#lookedAt.set(key, now + LOOK_AGAIN_MS);
    this.#lookLater(run);
  }

  close(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #lookLater(run: Started): void {
    const timer = this.#core.ports.clock.setTimer(LOOK_AFTER_MS, () => {
      this.#timers.delete(timer);
      // The caller that needs the store reports that it does not answer.
      void this.#look(run).catch(() => {});
    });
    timer.unref?.();
    this.#timers.add(timer);
  }

  async #look(run: Started): Promise<void> {
    const { ports, namespace, life } = this.#core;
    const workers = await ports.store.workers.list({ namespace });
    const { now } = await ports.store.readClock();
    if (life.over) return;
    // One that drains counts: a deployment is about to put another in its place.
    const serving = workers.filter((worker) => isAlive(worker, now) && offers(worker, run));
    if (serving.some((worker) => !isOverdue(worker, now))) return;
    // They may be dead. Their leases tell, soon.
    if (serving.length > 0) return this.#lookLater(run);
    const { id, workflow, version, queue } = run;
    const offer = `no live worker offers ${workflow}@${version} on queue "${queue}" in namespace "${namespace}"`;
    ports.log.warn({ workflow, id, queue }, `no worker can claim the run that was started: ${offer}; it waits for one`);
  }
}
