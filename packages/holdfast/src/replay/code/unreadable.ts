/**
 * Stored bytes that are read while the code runs, and cannot be. The code must not learn of it: it might catch the error, and
 * the run would go another way than before. The run is parked instead, and the turn does not count.
 */
import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { describeValue } from "../../errors/safe-read.ts";
import type { MachineInside } from "../machine-inside.ts";

const CODES: ReadonlySet<string | undefined> = new Set(["codec_failed", "codec_key_missing"]);

export function isUnreadable(violation: HoldfastError | undefined): boolean {
  return CODES.has(violation?.code);
}

/** What the code gets instead: it never settles. */
export function unreadable(machine: Pick<MachineInside, "violate">, error: unknown): Promise<never> {
  const known = isHoldfastError(error) && isUnreadable(error);
  machine.violate(known ? error : new HoldfastError("codec_failed", describeValue(error), { cause: error }));
  return new Promise(() => {});
}
