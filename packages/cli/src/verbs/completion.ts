import { completionScript, SHELLS, type Shell } from "../command/completion.ts";
import type { Action } from "../command/verb.ts";
import { UsageError } from "../io/failure.ts";

export const completion: Action = async (call) => {
  const shell = call.argument("shell");
  if (!(SHELLS as readonly string[]).includes(shell))
    throw new UsageError(`"${shell}" is not one of ${SHELLS.join(", ")}.`);
  call.io.stdout.write(completionScript(shell as Shell));
  return undefined;
};
