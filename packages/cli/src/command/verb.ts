/** A verb: data for the parser, the help, the completions and the docs; its code is loaded when it runs. */
import type { Call } from "./call.ts";
import type { VerbShape } from "./verb-shape.ts";

/** The code of a verb: returns the exit code, or nothing for 0. */
export type Action = (call: Call) => Promise<number | undefined>;

export interface Verb extends VerbShape {
  readonly load: () => Promise<Action>;
}
