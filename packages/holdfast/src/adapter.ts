/** What an adapter package may use of the core: the ports, the model and the errors. */
export { Client } from "./client/client.ts";
export type { ClientInTransaction } from "./client/client-in-transaction.ts";
export { systemPorts } from "./engine/system-ports.ts";
export { ERROR_CODES } from "./errors/codes.ts";
export { toErrorRecord } from "./errors/error-record.ts";
export { HoldfastError, isHoldfastError } from "./errors/holdfast-error.ts";
export {
  hasCredentials,
  readServerUrl,
  type ServerUrl,
  secretsOf,
  shownUrl,
  withoutSecrets,
} from "./errors/shown-url.ts";
export type * from "./model/error-record.ts";
export * from "./model/event.ts";
export { outcomeMessageId, uuidV7 } from "./model/ids.ts";
export * from "./model/message.ts";
export { nearestName } from "./model/nearest-name.ts";
export * from "./model/payload.ts";
export * from "./model/run.ts";
export type { Stored, Whole } from "./model/stored.ts";
export * from "./model/version-row.ts";
export * from "./model/worker-row.ts";
export type * from "./ports/clock.ts";
export type * from "./ports/codec.ts";
export type { Logger } from "./ports/logger.ts";
export { type NewRunDecisions, newRunRow } from "./ports/new-run-row.ts";
export type * from "./ports/notifier.ts";
export type * from "./ports/open-store.ts";
export type * from "./ports/random.ts";
export type * from "./ports/store.ts";
export { checkStoreOptions } from "./ports/store-options.ts";
export { askTransaction, type Context } from "./replay/context.ts";
export type { StepInfo, StepOptions } from "./replay/step-options.ts";
