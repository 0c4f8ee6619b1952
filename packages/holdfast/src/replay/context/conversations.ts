import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Stored } from "../../model/stored.ts";

/** A typed name for requests that a workflow answers. Made by `update<In, Out>(name)`. `Sent` differs if a schema converts. */
export interface UpdateDefinition<In = unknown, Out = unknown, Sent = In> {
  readonly kind: "update";
  readonly name: string;
  readonly schema?: StandardSchemaV1;
  /** Carry the types; never set. */
  readonly argumentType?: In;
  readonly sentType?: Sent;
  readonly resultType?: Out;
}

/** A typed name for questions about a run. Made by `query<Out, In>(name)`. `Sent` differs if a schema converts. */
export interface QueryDefinition<Out = unknown, In = unknown, Sent = In> {
  readonly kind: "query";
  readonly name: string;
  readonly schema?: StandardSchemaV1;
  /** Carry the types; never set. */
  readonly resultType?: Out;
  readonly argumentType?: In;
  readonly sentType?: Sent;
}

/** Answers a query: at once, without ctx, and without changing anything. */
export type QueryHandler<Out = unknown, In = unknown> = (argument: In) => Out;

/** Answers an update. It is workflow code: it may use ctx, and runs beside everything else that the run does. */
export type UpdateFunction<In = unknown, Out = unknown> = (argument: In) => Out | PromiseLike<Out>;

/** How a run answers an update. */
export interface UpdateHandler<In = unknown, Out = unknown> {
  /**
   * Refuses the update by throwing, before anything is recorded. It answers at once, and of ctx it may only
   * read: `ctx.now()`, `ctx.info`.
   * @defaultValue every update is accepted
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns a promise fits void alone.
  readonly validate?: (argument: In) => undefined | void;
  /** What the update does and returns. */
  readonly handle: UpdateFunction<In, Out>;
}

/** The argument is required unless the update, or the query, may be sent without one. */
export type QueryArguments<Sent> = undefined extends Sent ? [argument?: Sent] : [argument: Sent];

/** A handler that returns nothing answers with nothing. */
type NothingOr<Out> = Out extends object | string | number | boolean | bigint | null ? Stored<Out> : undefined;

/** What callers get from a handler that returns `Out`. */
export type Answer<Out> = unknown extends Out ? Out : undefined extends Out ? NothingOr<Out> : Stored<Awaited<Out>>;
