import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { isLasting, type StorePatience, untilAnswered } from "../../calls/store-retry.ts";
import { uuidV7 } from "../../model/ids.ts";
import type { LeaderOutlook, RegisterWorkerParams, WorkerRef } from "../../ports/store.ts";

export interface RegisteredWorker {
  readonly workerId: string;
  /** The worker's name in the store. */
  readonly name: string;
  /** Workers of the same name on this host whose process is gone. */
  readonly gone: readonly string[];
  /** When the first call was sent: the lease counts from there, because that may be the call that took effect. */
  readonly sentMonotonic: number;
  readonly sentWall: number;
  /** The store's clock, and when the call that returned it was sent. */
  readonly now: number;
  readonly askedAt: number;
  readonly tries: number;
  /** It is the leader. */
  readonly leads: LeaderOutlook | undefined;
}

/** What a worker was before it registers. */
export interface Earlier {
  /** It was declared dead although it is alive. */
  readonly again: boolean;
  /** The ids that it has had. */
  readonly formerIds: ReadonlySet<string>;
}

/**
 * Registers a worker under a new id, however long the store takes; undefined if that is no longer wanted. Throws errors that
 * waiting cannot fix. Of one namespace, host, process id and name there is one live worker at most:
 *
 * - Another worker of this process that lives keeps its name, and the new one takes another.
 * - A worker that registers again (`again`) was declared dead although it is alive. If another one has its place by then, the two are
 *   twins in containers and the other has replaced it: it takes a new name instead of replacing the other in turn.
 * - Whoever else has it is dead, because its process is gone.
 */
export async function registerWorker(
  ports: PortsBundle & StorePatience,
  row: Omit<RegisterWorkerParams, "workerId" | "host" | "pid">,
  { again, formerIds }: Earlier,
  unwanted: () => boolean,
): Promise<RegisteredWorker | undefined> {
  const { clock, random, store, environment } = ports;
  const place = environment && { host: environment.host, pid: environment.pid };
  const { namespace } = row;
  let { name } = row;
  for (;;) {
    const workerId = uuidV7(clock.now(), random.bytes(16));
    const sentMonotonic = clock.monotonic();
    const sentWall = clock.now();
    let askedAt = sentMonotonic;
    let tries = 0;
    // Before the call: another worker of this process that signs on at the same time must know that this one lives.
    environment?.workerIds.add(workerId);
    const register = () => {
      tries += 1;
      askedAt = clock.monotonic();
      return store.workers.register({ workerId, ...row, ...place, name });
    };
    const giveUp = (_failures: number, error: unknown): boolean => unwanted() || isLasting(error);
    const answer = await untilAnswered(ports, register, giveUp).catch((error: unknown) => {
      environment?.workerIds.delete(workerId);
      if (!unwanted()) throw error;
    });
    if (unwanted()) {
      environment?.workerIds.delete(workerId);
      // If this fails, the row's lease expires by itself: the worker holds nothing.
      if (answer) await store.workers.stop({ namespace, workerId }).catch(() => {});
      return undefined;
    }
    // The answer to the first call was so late that the lease has expired since: that id is dead for good.
    if (!answer?.live) {
      environment?.workerIds.delete(workerId);
      continue;
    }
    const others = (answer.namesakes ?? []).filter((one) => !formerIds.has(one.workerId));
    const here = others.filter((one) => environment?.workerIds.has(one.workerId));
    const elsewhere = others.filter((one) => !here.includes(one));
    const taken = here.length > 0 || (again && elsewhere.some(({ pid }) => pid === place?.pid));
    if (!taken) {
      const gone = again ? [] : elsewhere.filter(({ pid }) => pid === place?.pid || environment?.isGone(pid));
      const { now, leads } = answer;
      const ids = gone.map((one) => one.workerId);
      return { workerId, name, gone: ids, sentMonotonic, sentWall, now, askedAt, tries, leads };
    }
    name = nextName(name);
    environment?.workerIds.delete(workerId);
    await store.workers.stop({ namespace, workerId }).catch(() => {});
  }
}

/** `orders`, `orders~2`, `orders~3` … */
function nextName(name: string): string {
  const [, base = name, number = "1"] = /^(.*)~(\d+)$/.exec(name) ?? [];
  return `${base}~${Number(number) + 1}`;
}

/** Takes a worker offline, if the store can be reached; a worker without an id was never registered. */
export async function stopWorker(ports: PortsBundle, { namespace, workerId }: WorkerRef): Promise<void> {
  if (workerId === "") return;
  ports.environment?.workerIds.delete(workerId);
  await untilAnswered(
    ports,
    () => ports.store.workers.stop({ namespace, workerId }),
    (failures) => failures >= 3,
  ).catch((error) => {
    ports.log.warn(
      { workerId, error: String(error) },
      "could not tell the store that this worker has stopped; its lease will expire by itself",
    );
  });
}
