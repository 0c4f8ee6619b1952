/** What a worker says of itself is shown to people as it was said: what could not be shown is not kept. */
import type { StoreMethod } from "holdfast/adapter";
import { malformed } from "./caller.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Throws `store_refused` for a registration that is none. */
export function requireRegistration(method: StoreMethod, params: unknown): void {
  const { name, queues, workflows, tasks = [], labels, about = {}, leaseMs } = params as Fields;
  const isWhole =
    typeof name === "string" &&
    [queues, workflows, tasks].every(areTexts) &&
    isObject(labels) &&
    areTexts(Object.values(labels)) &&
    isObject(about) &&
    isObject(about["options"] ?? {}) &&
    typeof leaseMs === "number" &&
    leaseMs > 0;
  if (!isWhole) throw malformed(method);
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
