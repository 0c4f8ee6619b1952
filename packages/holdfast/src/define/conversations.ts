import type { StandardSchemaV1 } from "@standard-schema/spec";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { isSchema, requireName } from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { Stored } from "../model/stored.ts";
import type { QueryDefinition, UpdateDefinition } from "../replay/context/conversations.ts";

/** What a handler receives when `T` is sent: the value as decoded by the codec. */
export type Argument<T> = unknown extends T
  ? T
  : undefined extends T
    ? Stored<Exclude<T, undefined>> | undefined
    : Stored<T>;

/**
 * A typed name for requests that a workflow answers: `update<In, Out>(name)`. With a schema, arguments are checked before they
 * are sent. Without types, it takes no argument and returns nothing.
 */
export function update<In = undefined, Out = void>(name: string): UpdateDefinition<Argument<In>, Out, In>;
export function update<Schema extends StandardSchemaV1>(
  name: string,
  schema: Schema,
): UpdateDefinition<Argument<StandardSchemaV1.InferOutput<Schema>>, unknown, StandardSchemaV1.InferInput<Schema>>;
export function update<In, Out>(
  name: string,
  schema: StandardSchemaV1<In, In>,
): UpdateDefinition<Argument<In>, Out, In>;
export function update(name: string, schema?: StandardSchemaV1): UpdateDefinition {
  requireName(name, "update name");
  if (schema !== undefined) isSchema(schema, `update(${JSON.stringify(name)})`, "the schema");
  return { kind: "update", name, ...(schema === undefined ? {} : { schema }) };
}

/**
 * A typed name for questions about a run: `query<Out>(name)`, or `query<Out, In>(name)` if it takes an argument. With a schema,
 * arguments are checked before they are sent.
 */
export function query<Out = unknown, In = undefined>(name: string): QueryDefinition<Out, Argument<In>, In>;
export function query<Schema extends StandardSchemaV1>(
  name: string,
  schema: Schema,
): QueryDefinition<unknown, Argument<StandardSchemaV1.InferOutput<Schema>>, StandardSchemaV1.InferInput<Schema>>;
export function query<Out, In>(name: string, schema: StandardSchemaV1<In, In>): QueryDefinition<Out, Argument<In>, In>;
export function query(name: string, schema?: StandardSchemaV1): QueryDefinition {
  requireName(name, "query name");
  if (schema !== undefined) isSchema(schema, `query(${JSON.stringify(name)})`, "the schema");
  return { kind: "query", name, ...(schema === undefined ? {} : { schema }) };
}

/** Plain JavaScript may pass something else; a bare name does not say what its argument is. */
export function requireKind(value: unknown, kind: "update" | "query", where: string): void {
  const found = value as { readonly kind?: unknown; readonly name?: unknown } | null | undefined;
  if (found?.kind === kind && typeof found.name === "string") return;
  const example = typeof value === "string" ? `${kind}(${shownValue(value)})` : `${kind}("name")`;
  const article = kind === "update" ? "an" : "a";
  throw new HoldfastError(
    "invalid_option",
    `${where} is ${shownValue(value)}, not ${article} ${kind}. Make one with ${example}.`,
  );
}
