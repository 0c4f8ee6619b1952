import type { Logger } from "../ports/logger.ts";
import type { Store } from "../ports/store.ts";

export interface ReconcileParams {
  readonly workerId: string;
  readonly knows: (runId: string) => boolean;
  /** False when something on its way may explain the difference: then nothing is done. */
  readonly quiet: () => boolean;
  /** Told what the store thinks this worker holds. */
  readonly drop: (held: ReadonlySet<string>) => void;
}

/** Settles a difference between what a worker holds and what the store thinks it holds: strangers are given back. */
export async function reconcileHeld(
  ports: { readonly store: Store; readonly log: Logger },
  params: ReconcileParams,
): Promise<void> {
  try {
    const held = await ports.store.readHeld({ workerId: params.workerId });
    if (!params.quiet()) return;
    const strangers = held.filter(({ runId }) => !params.knows(runId));
    params.drop(new Set(held.map(({ runId }) => runId)));
    if (strangers.length === 0) return;
    ports.log.warn(
      { workerId: params.workerId, runs: strangers.length },
      "giving back runs that this worker does not know",
    );
    await ports.store.releaseRunsIfHeld({ workerId: params.workerId, runs: strangers });
  } catch (error) {
    ports.log.warn({ workerId: params.workerId, error: String(error) }, "could not compare held runs with the store");
  }
}
