import { HoldfastError, ROLES, type Role } from "holdfast/adapter";

/** What somebody may do, in a namespace or in all of them (`*`). */
export interface Grant {
  readonly role: Role;
  readonly namespace: string;
}

/** Who calls. */
export interface Principal {
  /** For logs, audit and limits: the id of a key, the subject of a token, a name in a certificate. */
  readonly id: string;
  readonly grants: readonly Grant[];
  /** When this must be looked up again, in milliseconds of the system clock; undefined: never. */
  readonly until?: number;
}

/** Whoever reaches a server without authentication. */
export const ANYONE: Principal = { id: "anonymous", grants: [{ role: "admin", namespace: "*" }] };

export const ALL_NAMESPACES = "*";
const DEFAULT_NAMESPACE = "default";

/** The namespace that a call means if it names none: the only one of its token. */
export function ownNamespace({ grants }: Principal): string {
  const [first, ...others] = new Set(grants.map(({ namespace }) => namespace));
  return first !== undefined && others.length === 0 && first !== ALL_NAMESPACES ? first : DEFAULT_NAMESPACE;
}

/** Whether one of the grants has the role, or a higher one, in the namespace. */
export function isAllowed({ grants }: Principal, role: Role, namespace: string): boolean {
  const wanted = ROLES.indexOf(role);
  return grants.some(
    (grant) =>
      (grant.namespace === ALL_NAMESPACES || grant.namespace === namespace) && ROLES.indexOf(grant.role) >= wanted,
  );
}

export function requireAllowed(principal: Principal, role: Role, namespace: string, call: string): void {
  if (isAllowed(principal, role, namespace)) return;
  const where = namespace === ALL_NAMESPACES ? "for all namespaces" : `in namespace "${namespace}"`;
  const message = `${call} needs the role ${role} ${where}; the token of "${principal.id}" does not have it.`;
  throw new HoldfastError("permission_denied", message, { data: { namespace, role } });
}
