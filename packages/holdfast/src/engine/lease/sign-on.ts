import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { isLasting, type StorePatience, untilAnswered } from "../../calls/store-retry.ts";
import { uuidV7 } from "../../model/ids.ts";
import type { RegisterWorkerParams, WorkerRef } from "../../ports/store.ts";

export interface SignedOn {
  readonly workerId: string;
  /** The name that the store has for it. */
  readonly name: string;
  /** Workers of the same name on this host whose process is gone. */
  readonly gone: readonly string[];
  /** When the first try was sent: the lease counts from there, because that may be the one that the store has taken. */
  readonly sentMonotonic: number;
  readonly sentWall: number;
  /** The store's clock, and when the call that told it was sent. */
  readonly now: number;
  readonly askedAt: number;
  readonly tries: number;
}

/**
 * Registers a worker under a new id, however long the store takes; undefined when nobody wants it any more. Throws what is not
 * worth waiting for. A worker that signs on once more (`again`) was declared dead although it lives. If another one has its
 * name, host and process id by now, the two are twins in containers, and it was replaced by the other: it takes a name of its
 * own instead of replacing it in turn.
 */
export async function signOn(
  ports: PortsBundle & StorePatience,
  row: Omit<RegisterWorkerParams, "workerId" | "host" | "pid">,
  again: boolean,
  unwanted: () => boolean,
): Promise<SignedOn | undefined> {
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
    const register = () => {
      tries += 1;
      askedAt = clock.monotonic();
      return store.workers.register({ workerId, ...row, ...place, name });
    };
    const giveUp = (_failures: number, error: unknown): boolean => unwanted() || isLasting(error);
    const answer = await untilAnswered(ports, register, giveUp).catch((error: unknown) => {
      if (!unwanted()) throw error;
    });
    if (unwanted()) {
      // Should it not get through, the row runs out by itself: it holds nothing.
      if (answer) await store.workers.stop({ namespace, workerId }).catch(() => {});
      return undefined;
    }
    // The answer to the first try was so late that the lease has run out since: that id is dead for good.
    if (!answer?.live) continue;
    const strangers = (answer.namesakes ?? []).filter((one) => !environment?.workerIds.has(one.workerId));
    const twin = again && strangers.some(({ pid }) => pid === place?.pid);
    if (!twin) {
      environment?.workerIds.add(workerId);
      const gone = again ? [] : strangers.filter(({ pid }) => pid === place?.pid || environment?.isGone(pid));
      const { now } = answer;
      return { workerId, name, gone: gone.map((one) => one.workerId), sentMonotonic, sentWall, now, askedAt, tries };
    }
    name = nextName(name);
    await store.workers.stop({ namespace, workerId }).catch(() => {});
  }
}

/** `orders`, `orders~2`, `orders~3` … */
function nextName(name: string): string {
  const [, base = name, number = "1"] = /^(.*)~(\d+)$/.exec(name) ?? [];
  return `${base}~${Number(number) + 1}`;
}

/** Takes a worker offline, if the store can be reached; an id that it does not have needs no signing off. */
export async function signOff(ports: PortsBundle, { namespace, workerId }: WorkerRef): Promise<void> {
  if (workerId === "") return;
  ports.environment?.workerIds.delete(workerId);
  await untilAnswered(
    ports,
    () => ports.store.workers.stop({ namespace, workerId }),
    (failures) => failures >= 3,
  ).catch((error) => {
    ports.log.warn({ workerId, error: String(error) }, "could not sign off; the lease will run out by itself");
  });
}
