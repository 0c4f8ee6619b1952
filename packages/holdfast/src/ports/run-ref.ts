/** A run by its own id, or the newest run of a user's id. */
export type RunRef =
  | { readonly namespace: string; readonly runId: string }
  | { readonly namespace: string; readonly id: string };
