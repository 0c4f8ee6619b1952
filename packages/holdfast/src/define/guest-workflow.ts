import type { GuestHost } from "../replay/guests/guest-run.ts";
import { type AnyWorkflow, workflow } from "./definitions.ts";

export interface GuestWorkflowParams {
  readonly name: string;
  readonly version: string;
  readonly queue: string;
  readonly guests: GuestHost;
}

/** A workflow whose code is in another process: a worker that has it hands its runs to guests. */
export function guestWorkflow({ name, version, queue, guests }: GuestWorkflowParams): AnyWorkflow {
  return { ...workflow({ name, version, queue }, elsewhere), guests };
}

function elsewhere(): never {
  throw new TypeError("the code of this workflow is in another process");
}
