import type { ErrorCodeInfo } from "./code-info.ts";

/** What a server can refuse, whatever is asked for. */
export const ACCESS_CODES = {
  unauthenticated: {
    group: "configuration",
    caller: "fix_input",
    kind: "Unauthorized",
    summary: "The call carries no token, or one that is wrong, has expired or was revoked.",
    advice: "Send Authorization: Bearer <token>; holdfast token create makes one.",
  },
  permission_denied: {
    group: "configuration",
    caller: "fix_input",
    kind: "Unauthorized",
    summary: "The token does not allow this call in this namespace.",
    advice: "Use a token with the role that the message names, or another namespace.",
  },
  rate_limited: {
    group: "concurrency",
    caller: "retry_later",
    kind: "RateLimitExceeded",
    summary: "The token or its namespace has made too many calls of this kind.",
    advice: "Repeat it after data.retryAfterMs, or raise the limits of the server.",
  },
  namespace_not_found: {
    group: "configuration",
    caller: "not_found",
    kind: "NotFound",
    summary: "There is no namespace of this name.",
    advice: "Check the name, or create it with holdfast namespace create.",
  },
  namespace_already_exists: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary: "A namespace has this name already.",
    advice: "Choose another name, or update the one there is.",
  },
  namespace_disabled: {
    group: "configuration",
    caller: "conflict",
    kind: "ServiceUnavailable",
    summary: "The namespace is disabled: it takes no starts, and its work is not handed out.",
    advice: "Enable it with holdfast namespace enable.",
  },
  token_not_found: {
    group: "configuration",
    caller: "not_found",
    kind: "NotFound",
    summary: "There is no API key with this id in the namespace.",
    advice: "holdfast token list shows their ids.",
  },
  guest_run_lost: {
    group: "concurrency",
    caller: "lost_lease",
    kind: "Unknown",
    summary: "The worker does not hold this run, or its server does not: the run has been handed to another worker.",
    advice: "Drop the run, and poll again.",
  },
  steps_open: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary: "The worker completes a run while steps that it has begun have not ended.",
    advice: "End them first, or set drop_open_steps if they do not matter.",
  },
} as const satisfies Record<string, ErrorCodeInfo>;
