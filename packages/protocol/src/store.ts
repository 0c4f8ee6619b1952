/** The session between the server and Holdfast's own clients and workers: frames, bodies, errors, and the table of the calls. */
export { COMMIT_ROWS, type CommitRows, commitRows, commitsOf } from "./commit-rows.ts";
export { largestPayload, packBody, unpackBody } from "./store-bodies.ts";
export {
  EVERY_NAMESPACE,
  isStoreMethod,
  STORE_CALL_TABLE,
  STORE_ROLES,
  type StoreCallRow,
  type StoreRole,
} from "./store-call-table.ts";
export { fromStoreError, toStoreError } from "./store-errors.ts";
export {
  CALL_PATH,
  type CallRequest,
  CallRequestSchema,
  type CallResponse,
  CallResponseSchema,
  MessageReader,
  POLL_PATH,
  type PollRequest,
  PollRequestSchema,
  type PollResponse,
  PollResponseSchema,
  readRequest,
  readResponse,
  requestBytes,
  responseBytes,
  SESSION_PATH,
  type SessionRequest,
  SessionRequestSchema,
  type SessionResponse,
  SessionResponseSchema,
  type StoreError,
  type StoreHello,
  StoreHelloSchema,
  type StoreInterest,
  StoreInterestSchema,
  type StoreLimits,
  StoreLimitsSchema,
  StoreService,
  type StoreWelcome,
  StoreWelcomeSchema,
  type StoreWorker,
  StoreWorkerSchema,
} from "./store-frames.ts";
export { type Link, type LinkEvents, Outbox, type SendWatch } from "./store-outbox.ts";
export { callTooLarge, PartGatherer, partsOf, payloadTooLarge } from "./store-parts.ts";
