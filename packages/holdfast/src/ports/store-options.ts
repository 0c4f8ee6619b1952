import { Buffer } from "node:buffer";
import { invalidOption, type OptionCheck, type OptionChecks, oneOf } from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { StoreOptions } from "./open-store.ts";

const SCHEMA_BYTES_MAX = 63;

const isSchemaName: OptionCheck = (value, where, option) => {
  const fault = schemaFault(value);
  if (fault !== undefined)
    throw invalidOption(where, `the ${option} ${shownValue(value)}`, `${fault}. Choose another name`);
};

/** Checked for every store alike, also where the option has no meaning: a program that works on one works on the next. */
export const STORE_OPTIONS: OptionChecks<StoreOptions> = {
  migrate: oneOf("auto", "check"),
  durability: oneOf("sync", "async"),
  schema: isSchemaName,
};

/** For an adapter, whose `openStore` may be called by others than `connect`. */
export function checkStoreOptions({ migrate, durability, schema }: StoreOptions): void {
  if (migrate !== undefined) STORE_OPTIONS.migrate(migrate, "connect", "migrate");
  if (durability !== undefined) STORE_OPTIONS.durability(durability, "connect", "durability");
  if (schema !== undefined) STORE_OPTIONS.schema(schema, "connect", "schema");
}

/** A name that can be quoted, that fits, and that is not PostgreSQL's own. */
function schemaFault(schema: unknown): string | undefined {
  if (typeof schema !== "string") return `is ${schema === null ? "null" : typeof schema}, not a string`;
  if (schema === "") return "is empty";
  if (Buffer.byteLength(schema) > SCHEMA_BYTES_MAX) return `is longer than ${SCHEMA_BYTES_MAX} bytes`;
  if (/[\u0000-\u001f\u007f"]|\p{Surrogate}/u.test(schema)) return "contains a quotation mark or a control character";
  return /^pg_|^information_schema$/i.test(schema) ? "belongs to PostgreSQL itself" : undefined;
}
