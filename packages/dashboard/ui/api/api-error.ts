import { safeText } from "../text/safe-text.ts";

/** What the server answered instead of data, or why no answer came. */
export class ApiError extends Error {
  /** The HTTP status; 0 if no answer came. */
  readonly status: number;
  readonly code: string;
  /** There is a form to log in. */
  readonly login: boolean;

  constructor(status: number, code: string, message: string, login = false) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.login = login;
  }

  /** True if asking again may help: no answer, too many requests, or a server that has trouble. */
  get mayPass(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The sentence to show for anything that was thrown. */
export function messageOf(error: unknown): string {
  return safeText(error instanceof Error ? error.message : String(error));
}
