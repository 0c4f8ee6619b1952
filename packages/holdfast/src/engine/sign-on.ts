import { uuidV7 } from "../model/ids.ts";
import type { RegisterWorkerParams } from "../ports/store.ts";
import type { PortsBundle } from "./ports-bundle.ts";
import { isLasting, type StorePatience, untilAnswered } from "./store-retry.ts";

export interface SignedOn {
  readonly workerId: string;
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
 * worth waiting for.
 */
export async function signOn(
  ports: PortsBundle & StorePatience,
  row: Omit<RegisterWorkerParams, "workerId">,
  unwanted: () => boolean,
): Promise<SignedOn | undefined> {
  const { clock, random, store } = ports;
  for (;;) {
    const workerId = uuidV7(clock.now(), random.bytes(16));
    const sentMonotonic = clock.monotonic();
    const sentWall = clock.now();
    let askedAt = sentMonotonic;
    let tries = 0;
    const register = () => {
      tries += 1;
      askedAt = clock.monotonic();
      return store.registerWorker({ workerId, ...row });
    };
    const giveUp = (_failures: number, error: unknown): boolean => unwanted() || isLasting(error);
    const answer = await untilAnswered(ports, register, giveUp).catch((error: unknown) => {
      if (!unwanted()) throw error;
    });
    if (unwanted()) {
      // Should it not get through, the row runs out by itself: it holds nothing.
      if (answer) await store.stopWorker({ workerId }).catch(() => {});
      return undefined;
    }
    // The answer to the first try was so late that the lease has run out since: that id is dead for good.
    if (answer?.live) return { workerId, sentMonotonic, sentWall, now: answer.now, askedAt, tries };
  }
}

/** Takes a worker offline, if the store can be reached; an id that it does not have needs no signing off. */
export async function signOff(ports: PortsBundle, workerId: string): Promise<void> {
  if (workerId === "") return;
  await untilAnswered(
    ports,
    () => ports.store.stopWorker({ workerId }),
    (failures) => failures >= 3,
  ).catch((error) => {
    ports.log.warn({ workerId, error: String(error) }, "could not sign off; the lease will run out by itself");
  });
}
