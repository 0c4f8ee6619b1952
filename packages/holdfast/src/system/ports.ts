import { systemClock } from "./clock.ts";
import { systemRandom } from "./random.ts";

/** Time and randomness of this machine. */
export const systemPorts = { clock: systemClock, random: systemRandom };
