import {
  isDuration,
  isFunction,
  listOf,
  type OptionChecks,
  oneOf,
  requireDuration,
  requireOptions,
} from "../errors/option-checks.ts";
import { batchNamespace } from "../model/batch.ts";
import { CLOSED_STATUSES } from "../model/run.ts";
import type { EndPosition, PurgeRunsParams } from "../ports/store.ts";
import type { ClientCore } from "./client-core.ts";
import type { PurgeOptions } from "./client-options.ts";

/** Small enough that a batch does not delay other calls. */
const BATCH_SIZE = 500;

const PURGE_OPTIONS: OptionChecks<PurgeOptions> = {
  olderThan: isDuration,
  statuses: listOf(oneOf(...CLOSED_STATUSES)),
  onBatch: isFunction,
};

/**
 * Deletes batch after batch until no run that ended that long ago is left. Rows locked by another transaction are left
 * to the next purge.
 */
export async function purgeEnded(core: ClientCore, options: PurgeOptions): Promise<number> {
  requireOptions(options, PURGE_OPTIONS, "purge");
  const olderThanMs = requireDuration(options.olderThan, "purge", "olderThan");
  const { statuses, onBatch } = options;
  // Ends carry the store's time, and this machine's clock may be wrong.
  const { now } = await core.call((store) => store.readClock());
  const wanted = { endedBefore: now - olderThanMs, ...(statuses === undefined ? {} : { statuses }) };
  // Batches are no runs of the namespace for those who count them, but they grow old as well.
  await purgeIn(core, { ...wanted, namespace: batchNamespace(core.namespace), limit: BATCH_SIZE }, undefined);
  return purgeIn(core, { ...wanted, namespace: core.namespace, limit: BATCH_SIZE }, onBatch);
}

async function purgeIn(
  core: ClientCore,
  params: PurgeRunsParams,
  onBatch: PurgeOptions["onBatch"] | undefined,
): Promise<number> {
  let after: EndPosition | undefined;
  for (let total = 0; ; ) {
    const { purged, more, last } = await core.call((store) => store.runs.purge({ ...params, ...(after && { after }) }));
    total += purged;
    if (purged > 0) await onBatch?.(total);
    if (!more || !last) return total;
    after = last;
  }
}
