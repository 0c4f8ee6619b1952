/** What an adapter package may use of the core: the ports, the model and the errors. */
export { ERROR_CODES } from "./errors/codes.ts";
export { toErrorRecord } from "./errors/error-record.ts";
export { HoldfastError, isHoldfastError } from "./errors/holdfast-error.ts";
export type * from "./model/error-record.ts";
export * from "./model/event.ts";
export * from "./model/message.ts";
export * from "./model/payload.ts";
export * from "./model/run.ts";
export * from "./model/version-row.ts";
export * from "./model/worker-row.ts";
export type * from "./ports/clock.ts";
export type * from "./ports/codec.ts";
export type { Logger } from "./ports/logger.ts";
export type * from "./ports/notifier.ts";
export type * from "./ports/open-store.ts";
export type * from "./ports/random.ts";
export type * from "./ports/store.ts";
