import type { Attributes } from "../model/event.ts";
import { nameFault, valueFault } from "../model/names.ts";
import { HoldfastError } from "./holdfast-error.ts";
import { isPlainObject } from "./option-checks.ts";
import { shownValue } from "./shown-value.ts";

export function assertAttributes(attributes: Attributes, where: string): void {
  if (!isPlainObject(attributes))
    throw new HoldfastError("invalid_option", `${where}: the attributes are ${shownValue(attributes)}, not an object.`);
  for (const [key, value] of Object.entries(attributes)) {
    const fault = nameFault(key);
    if (fault) throw new HoldfastError("invalid_name", `${where}: the attribute name ${shownValue(key)} ${fault}.`);
    const unstorable = typeof value === "string" ? valueFault(value) : undefined;
    if (unstorable) throw new HoldfastError("invalid_option", `${where}: attribute "${key}" ${unstorable}.`);
    const finite =
      typeof value === "number"
        ? Number.isFinite(value)
        : ["string", "boolean"].includes(typeof value) || value === null;
    if (!finite)
      throw new HoldfastError(
        "invalid_option",
        `${where}: attribute "${key}" is not a string, a finite number, a boolean or null.`,
      );
  }
}

/** As every store keeps them: their JSON has no -0. A copy, so that the caller's object can change. */
export function storedAttributes(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, value === 0 ? 0 : value]));
}
