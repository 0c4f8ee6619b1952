/** Errors on the wire: the code decides what the other side does, the data says to what. Causes and stacks stay where they are. */
import { create } from "@bufbuild/protobuf";
import { HoldfastError, isErrorCode, isHoldfastError } from "holdfast/adapter";
import { type StoreError, StoreErrorSchema } from "../gen/holdfast/v1/store_pb.js";
import { packBody, unpackBody } from "./store-bodies.ts";

export function toStoreError(error: unknown): StoreError {
  // What is no error of Holdfast may say anything about the server: only that it happened is told.
  if (!isHoldfastError(error))
    return create(StoreErrorSchema, {
      code: "store_refused",
      message: "The server could not make this call. Its log says why.",
    });
  // An adapter of somebody else may throw what only has a code.
  const { code, message, data = {} } = error as Partial<HoldfastError> & Pick<HoldfastError, "code" | "message">;
  const { retryAfterMs } = data;
  return create(StoreErrorSchema, {
    code,
    message,
    data: packBody(data),
    retryAfterMs: typeof retryAfterMs === "number" && retryAfterMs > 0 ? Math.ceil(retryAfterMs) : 0,
  });
}

export function fromStoreError(error: StoreError): HoldfastError {
  const data = (unpackBody(error.data) ?? {}) as Record<string, unknown>;
  // A code of a later version: the caller must not repeat what it does not understand.
  const code = isErrorCode(error.code) ? error.code : "store_refused";
  return new HoldfastError(code, error.message, { data: code === error.code ? data : { ...data, code: error.code } });
}
