import { sickWorkers } from "../../../model/decisions/watchdog.ts";
import type { Detect } from "./detector.ts";

/** Workers that are silent, or have died and have no successor. */
export const detectSickWorkers: Detect = async ({ workers, now }, { afterMs }) => sickWorkers(workers, now, afterMs);
