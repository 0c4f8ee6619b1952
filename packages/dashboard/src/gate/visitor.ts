import { refusal } from "../answers/refusal.ts";
import type { PayloadRight } from "../api/api-messages.ts";
import type { Role } from "../api/list-messages.ts";

/** Who looks at the dashboard, and what they may do: what `auth` returns. */
export interface Visitor {
  /** A name, for the history of runs and the audit log. */
  readonly user: string;
  /** Each includes the one before: look, act on runs, change limits and drain workers. */
  readonly role: Role;
  /** The namespaces that they may open; `["*"]`: all. */
  readonly namespaces: readonly string[];
  /** What they see of inputs, results and messages. It has no default: who forgets it shows nothing to anybody. */
  readonly payloads: PayloadRight;
}

const ROLES: readonly Role[] = ["reader", "writer", "admin"];
const RIGHTS: readonly PayloadRight[] = ["full", "redacted", "hidden"];

/** What `auth` has returned is a program's answer to a stranger: anything that is not right opens nothing. */
export function checkedVisitor(given: unknown): Visitor {
  const { user, role, namespaces, payloads } = (given ?? {}) as Partial<Visitor>;
  const right =
    typeof user === "string" &&
    ROLES.includes(role as Role) &&
    RIGHTS.includes(payloads as PayloadRight) &&
    Array.isArray(namespaces) &&
    namespaces.every((one) => typeof one === "string");
  if (!right)
    throw refusal(
      500,
      "bad_auth",
      "auth of the dashboard returned neither a Response nor { user, role, namespaces, payloads }.",
    );
  return { user, role: role as Role, namespaces, payloads: payloads as PayloadRight };
}

export function mayOpen({ namespaces }: Visitor, namespace: string): boolean {
  return namespaces.includes("*") || namespaces.includes(namespace);
}

export function hasRole({ role }: Visitor, wanted: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(wanted);
}
