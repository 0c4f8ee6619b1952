import { uuidV7 } from "../model/ids.ts";
import type { RegisterWorkerParams } from "../ports/store.ts";
import type { PortsBundle } from "./ports-bundle.ts";
import { untilAnswered } from "./store-retry.ts";

export interface SignedOn {
  readonly workerId: string;
  /** When the call that was answered had been sent: the lease counts from there. */
  readonly sentMonotonic: number;
  readonly sentWall: number;
  readonly now: number;
}

/** Registers a worker under a new id, however long the store takes. */
export async function signOn(
  ports: PortsBundle,
  row: Omit<RegisterWorkerParams, "workerId">,
  giveUp: () => boolean,
): Promise<SignedOn> {
  const { clock, random, store } = ports;
  const workerId = uuidV7(clock.now(), random.bytes(16));
  let sentMonotonic = 0;
  let sentWall = 0;
  const { now } = await untilAnswered(
    ports,
    () => {
      sentMonotonic = clock.monotonic();
      sentWall = clock.now();
      return store.registerWorker({ workerId, ...row });
    },
    giveUp,
  );
  return { workerId, sentMonotonic, sentWall, now };
}
