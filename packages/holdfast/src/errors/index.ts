export { type Classification, classifyError } from "./classify.ts";
export {
  CALLER_ACTIONS,
  type CallerAction,
  ERROR_GROUPS,
  type ErrorCodeInfo,
  type ErrorGroup,
} from "./code-info.ts";
export { ERROR_CODES, type ErrorCode, isErrorCode } from "./codes.ts";
export { type ErrorRecordOptions, fromErrorRecord, toErrorRecord } from "./error-record.ts";
export { type ErrorJson, HoldfastError, type HoldfastErrorOptions, isHoldfastError } from "./holdfast-error.ts";
export { isSecretKey, MASK, redactText } from "./redact.ts";
export { type RetryIf, type RetryInfo, shouldRetry } from "./retry-rule.ts";
export {
  RecordedError,
  RunCanceledError,
  type RunErrorData,
  type RunErrorInit,
  RunFailedError,
  RunParkedError,
  RunTerminatedError,
  RunTimedOutError,
} from "./run-errors.ts";
export { NonRetryableError, RetryableError, type RetryableErrorOptions } from "./step-errors.ts";
