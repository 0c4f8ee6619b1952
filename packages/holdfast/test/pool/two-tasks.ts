import { task } from "holdfast";

export const one = task("echo", () => 1);
export const other = task("echo", () => 2);
/** The same task under two names is no mistake. */
export const again = one;
