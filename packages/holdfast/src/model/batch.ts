/**
 * Batches are runs of a built-in workflow, in a namespace of their own beside the one whose runs they act on. So no list, count or
 * claim of that namespace meets them, at no cost, and a batch never meets itself.
 */

/** Names that begin with it belong to Holdfast itself. */
export const RESERVED_PREFIX = "holdfast.";

/** The built-in workflow of batches. */
export const BATCH_WORKFLOW = "holdfast.batch";

const NAMESPACE_PREFIX = "holdfast.batches/";

/** Where the batches of a namespace run. */
export function batchNamespace(namespace: string): string {
  return NAMESPACE_PREFIX + namespace;
}

export function isBatchNamespace(namespace: string): boolean {
  return namespace.startsWith(NAMESPACE_PREFIX);
}

/** How many runs a batch finds, and then acts on, at once. */
export const BATCH_PAGE_SIZE = 100;
/** After so many pages it continues as new, so that its history stays small. */
export const BATCH_PAGES_MAX = 100;
/** How many skipped runs a batch names; it counts all of them. */
export const BATCH_SKIPPED_MAX = 1_000;
