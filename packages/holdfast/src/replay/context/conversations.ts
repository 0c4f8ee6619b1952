import type { StandardSchemaV1 } from "@standard-schema/spec";

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
   * Refuses the update by throwing, before anything is recorded. It answers at once, and cannot use ctx.
   * @defaultValue every update is accepted
   */
  readonly validate?: (argument: In) => void;
  /** What the update does and returns. */
  readonly handle: UpdateFunction<In, Out>;
}
