import type { OpEvents } from "../op.ts";

/** Updates that the run has accepted or rejected. */
export const UPDATE_KIND: OpEvents = {
  commands: ["update_completed"],
  notes: ["update_rejected"],
  ends: ["update_accepted"],
};
