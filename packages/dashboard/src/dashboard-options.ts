import {
  checkOptions,
  invalidOption,
  isBoolean,
  isFunction,
  isText,
  listOf,
  type OptionChecks,
} from "holdfast/adapter";
import type { Visitor } from "./gate/visitor.ts";
import type { Redact } from "./reads/shown-value.ts";

/** Says who a request comes from: a visitor, or the answer for somebody who is not let in. */
export type Auth = (request: Request) => Visitor | Response | Promise<Visitor | Response>;

/** Options of `dashboard`. */
export interface DashboardOptions {
  /**
   * The path that the dashboard is mounted at: `/admin/holdfast`.
   * @defaultValue `"/"`
   */
  readonly base?: string;
  /** Who may look, and act: a function, or `"open"` for everybody on this machine. It has no default, because a request does not tell who sent it. */
  readonly auth: Auth | "open";
  /**
   * Nobody may change anything, whatever their role.
   * @defaultValue `false`
   */
  readonly readOnly?: boolean;
  /**
   * What visitors whose `payloads` are `"redacted"` see instead of a value.
   * @defaultValue the shape of the value, without its texts and numbers
   */
  readonly redact?: Redact;
  /**
   * A service that decodes encrypted payloads, which the browser asks with them.
   * @defaultValue none: they are shown as encrypted
   */
  readonly codecUrl?: string;
  /**
   * The hosts that requests may name, with a port or without. Others are refused, so that no foreign name can be pointed at the dashboard.
   * @defaultValue with `auth: "open"` the names of this machine, otherwise any
   */
  readonly hosts?: readonly string[];
  /**
   * The origins at which browsers see the dashboard, for a proxy that does not pass on the `Host` they named: `https://ops.example.com`.
   * @defaultValue none: the origin of a page is compared with `Host`
   */
  readonly origins?: readonly string[];
}

const isBase = (value: unknown, where: string, option: string): void => {
  if (typeof value !== "string" || !/^\/[\w\-./~%]*$/.test(value) || value.includes(".."))
    throw invalidOption(where, option, "is not a path that begins with a slash");
};

const OPTIONS: OptionChecks<DashboardOptions> = {
  base: isBase,
  auth(value, where, option) {
    if (value !== "open" && typeof value !== "function")
      throw invalidOption(where, option, 'is neither a function nor "open"');
  },
  readOnly: isBoolean,
  redact: isFunction,
  codecUrl(value, where, option) {
    if (typeof value !== "string" || !/^https?:\/\/[^\s;,]+$/.test(value) || !URL.canParse(value))
      throw invalidOption(where, option, "is not an http or https URL");
  },
  hosts: listOf(isText),
  origins: listOf((value, where, option) => {
    if (typeof value !== "string" || !/^https?:/.test(value) || !URL.canParse(value) || new URL(value).origin !== value)
      throw invalidOption(where, option, "is not an origin: https://ops.example.com, without a path and in lower case");
  }),
};

export function checkDashboardOptions(options: DashboardOptions): void {
  checkOptions(options, OPTIONS, "dashboard");
  if (options?.auth === undefined)
    throw invalidOption(
      "dashboard",
      "auth",
      'is missing: a function that says who a request comes from, or "open" for everybody on this machine',
    );
}

/** Without a slash at its end; empty at the root. */
export function baseOf({ base = "/" }: DashboardOptions): string {
  return base.replace(/\/+$/, "");
}
