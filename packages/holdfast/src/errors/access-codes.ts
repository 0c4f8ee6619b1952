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
} as const satisfies Record<string, ErrorCodeInfo>;
