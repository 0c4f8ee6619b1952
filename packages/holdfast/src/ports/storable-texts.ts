import { HoldfastError } from "../errors/holdfast-error.ts";
import { valueFault } from "../model/names.ts";
import type { AccessStore } from "./access.ts";

/** Throws `store_refused` if a text of the object, or of an object in one of its lists, is one that not every store can keep. */
export function requireStorable(params: object): void {
  for (const [field, value] of Object.entries(params)) {
    if (Array.isArray(value)) for (const one of value) requireStorable(one as object);
    const fault = typeof value === "string" ? valueFault(value) : undefined;
    if (fault !== undefined) throw new HoldfastError("store_refused", `The ${field} ${fault}.`, { data: { field } });
  }
}

/** The same store; every call is refused first if a text of it cannot be kept. */
export function storableOnly(access: AccessStore): AccessStore {
  const checked = Object.entries(access).map(([name, call]: [string, (params: object) => Promise<unknown>]) => [
    name,
    async (params: object) => {
      requireStorable(params);
      return call(params);
    },
  ]);
  return Object.fromEntries(checked) as AccessStore;
}
