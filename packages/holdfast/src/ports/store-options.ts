import { Buffer } from "node:buffer";
import { invalidOption, type OptionCheck, type OptionChecks, oneOf, optionsOf } from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { StoreOptions, TlsOptions } from "./open-store.ts";

const SCHEMA_BYTES_MAX = 63;

const isSchemaName: OptionCheck = (value, where, option) => {
  const fault = schemaFault(value);
  if (fault !== undefined)
    throw invalidOption(where, `the ${option} ${shownValue(value)}`, `${fault}. Choose another name`);
};

/** None of these is shown: they are secrets. */
const isToken: OptionCheck = (value, where, option) => {
  if (typeof value === "function" || (typeof value === "string" && /^[\x21-\x7e]+$/.test(value))) return;
  throw invalidOption(where, option, "must be a text without spaces and line breaks, or a function that returns one");
};

const isPem: OptionCheck = (value, where, option) => {
  if (typeof value !== "string" && !(value instanceof Uint8Array))
    throw invalidOption(where, option, "must be the text or the bytes of a PEM file");
};

const isText: OptionCheck = (value, where, option) => {
  if (typeof value !== "string" || value === "") throw invalidOption(where, option, "must be a text that is not empty");
};

const TLS_OPTIONS: OptionChecks<TlsOptions> = { ca: isPem, cert: isPem, key: isPem, servername: isText };

/** Checked for every store alike, also where the option has no meaning: a program that works on one works on the next. */
export const STORE_OPTIONS: OptionChecks<StoreOptions> = {
  migrate: oneOf("auto", "check"),
  durability: oneOf("sync", "async"),
  schema: isSchemaName,
  token: isToken,
  tls: optionsOf(TLS_OPTIONS),
};

/** For an adapter, whose `openStore` may be called by others than `connect`. */
export function checkStoreOptions({ migrate, durability, schema, token, tls }: StoreOptions): void {
  if (migrate !== undefined) STORE_OPTIONS.migrate(migrate, "connect", "migrate");
  if (durability !== undefined) STORE_OPTIONS.durability(durability, "connect", "durability");
  if (schema !== undefined) STORE_OPTIONS.schema(schema, "connect", "schema");
  if (token !== undefined) STORE_OPTIONS.token(token, "connect", "token");
  if (tls !== undefined) STORE_OPTIONS.tls(tls, "connect", "tls");
}

/** A name that can be quoted, that fits, and that is not PostgreSQL's own. */
function schemaFault(schema: unknown): string | undefined {
  if (typeof schema !== "string") return `is ${schema === null ? "null" : typeof schema}, not a string`;
  if (schema === "") return "is empty";
  if (Buffer.byteLength(schema) > SCHEMA_BYTES_MAX) return `is longer than ${SCHEMA_BYTES_MAX} bytes`;
  if (/[\u0000-\u001f\u007f"]|\p{Surrogate}/u.test(schema)) return "contains a quotation mark or a control character";
  return /^pg_|^information_schema$/i.test(schema) ? "belongs to PostgreSQL itself" : undefined;
}
