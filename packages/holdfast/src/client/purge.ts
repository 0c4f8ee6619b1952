import { isDuration, isFunction, listOf, type OptionChecks, oneOf } from "../errors/option-checks.ts";
import { CLOSED_STATUSES } from "../model/run.ts";
import type { ClientCore } from "./client-core.ts";
import type { PurgeOptions } from "./client-options.ts";

/** Small enough that a batch does not delay other calls. */
const BATCH_SIZE = 500;

export const PURGE_OPTIONS: OptionChecks<PurgeOptions> = {
  olderThan: isDuration,
  statuses: listOf(oneOf(...CLOSED_STATUSES)),
  onBatch: isFunction,
};

/**
 * Deletes batch after batch until no run that ended that long ago is left. Rows locked by another transaction are left
 * to the next purge.
 */
export async function purgeEnded(
  core: ClientCore,
  olderThanMs: number,
  options: Pick<PurgeOptions, "statuses" | "onBatch">,
): Promise<number> {
  const { statuses, onBatch } = options;
  const { namespace } = core;
  // Ends carry the store's time, and this machine's clock may be wrong.
  const { now } = await core.call((store) => store.readClock());
  const params = {
    namespace,
    endedBefore: now - olderThanMs,
    limit: BATCH_SIZE,
    ...(statuses === undefined ? {} : { statuses }),
  };
  for (let total = 0; ; ) {
    const { purged, more } = await core.call((store) => store.runs.purge(params));
    total += purged;
    if (purged > 0) await onBatch?.(total);
    if (!more || purged === 0) return total;
  }
}
