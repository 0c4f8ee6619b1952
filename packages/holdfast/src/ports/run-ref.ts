/**
 * A run by its own id, or the newest run of a user's id. The run id of a run that was purged, and that others have continued,
 * means the newest of these if it was the first of them; where exactly that run is meant, the call says so.
 */
export type RunRef =
  | { readonly namespace: string; readonly runId: string }
  | { readonly namespace: string; readonly id: string };
