import type { Attributes } from "../model/event.ts";
import { ATTRIBUTE_BYTES_MAX, ATTRIBUTES_MAX } from "../model/limits.ts";
import { nameFault, valueFault } from "../model/names.ts";
import { HoldfastError } from "./holdfast-error.ts";
import { isPlainObject, type OptionCheck } from "./option-checks.ts";
import { shownValue } from "./shown-value.ts";

/** What Holdfast itself says about a run: which schedule has started it, and for which time. */
const RESERVED_PREFIX = "holdfast.";

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

/**
 * Throws if one run would have more or larger attributes than it may. They must have passed `assertAttributes`. What Holdfast itself
 * says about a run does not count.
 */
export function limitAttributes(attributes: Attributes, where: string): void {
  let count = 0;
  let bytes = 0;
  for (const key in attributes) {
    if (key.startsWith(RESERVED_PREFIX)) continue;
    count += 1;
    bytes += Buffer.byteLength(key) + Buffer.byteLength(String(attributes[key]));
  }
  const fault =
    count > ATTRIBUTES_MAX
      ? `${count} search attributes; the limit is ${ATTRIBUTES_MAX}`
      : bytes > ATTRIBUTE_BYTES_MAX
        ? `${bytes} bytes of search attributes (names and values together); the limit is ${ATTRIBUTE_BYTES_MAX}`
        : undefined;
  if (fault === undefined) return;
  throw new HoldfastError(
    "invalid_option",
    `${where}: the run would have ${fault}. Set only what you filter runs by; other data belongs in the input, in step results or in your own tables.`,
    { data: { where, option: "attributes", count, bytes } },
  );
}

/** The same for attributes that somebody sets. */
export function assertOwnAttributes(attributes: Attributes, where: string): void {
  assertAttributes(attributes, where);
  const reserved = Object.keys(attributes).find((name) => name.startsWith(RESERVED_PREFIX));
  if (reserved === undefined) return;
  const message = `${where}: the attribute name "${reserved}" begins with "${RESERVED_PREFIX}", which is reserved.`;
  throw new HoldfastError("invalid_name", `${message} Choose another name.`);
}

/** The attributes of a start. */
export const isAttributes: OptionCheck = (value, where) => {
  assertOwnAttributes(value as Attributes, where);
  limitAttributes(value as Attributes, where);
};

/** As every store keeps them: their JSON has no -0. A copy, so that the caller's object can change. */
export function storedAttributes(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, value === 0 ? 0 : value]));
}
