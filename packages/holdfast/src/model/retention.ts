/** How long runs are kept once they have ended. */
import type { ClosedStatus } from "./run-status.ts";

/** In milliseconds, by status. Runs of a status that is left out are kept. */
export type RetentionRules = { readonly [S in ClosedStatus]?: number };

/** The shortest: whoever waits for a result must have the time to read it. */
export const RETENTION_MS_MIN = 60_000;
