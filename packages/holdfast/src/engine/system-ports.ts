import { systemClock } from "./system-clock.ts";
import { systemRandom } from "./system-random.ts";

/** Time and randomness of this machine. */
export const systemPorts = { clock: systemClock, random: systemRandom };
