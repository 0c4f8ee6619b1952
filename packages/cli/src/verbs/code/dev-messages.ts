/** What `dev` and the process of its worker tell each other. */

/** The variable in the environment of the worker's process that names the store. */
export const DEV_URL = "HOLDFAST_DEV_URL";
/** … and how long its steps have when it drains, if that is not the default. */
export const DEV_DRAIN = "HOLDFAST_DEV_DRAIN";

/** From the worker's process: its code is loaded (it has not begun), it cannot be loaded, it works. */
export type FromChild =
  | {
      readonly event: "loaded";
      readonly what: string;
      readonly workflows: readonly string[];
      readonly files: readonly string[];
    }
  | { readonly event: "failed"; readonly message: string; readonly files: readonly string[] }
  | { readonly event: "working" };

/** To the worker's process: begin, or drain and end. */
export type ToChild = "begin" | "drain";
