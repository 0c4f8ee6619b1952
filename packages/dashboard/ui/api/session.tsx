// Who looks at the dashboard, and what they may do.
import { createContext, type ReactNode, useContext } from "react";
import type { Role, SessionView } from "../../src/api/api-messages.ts";

export type Session = SessionView;

/** Under which it is cached. */
export const SESSION_KEY = ["session"] as const;

const ROLES: readonly Role[] = ["reader", "writer", "admin"];

const SessionContext = createContext<Session | undefined>(undefined);

export function SessionProvider(props: { readonly session: Session; readonly children: ReactNode }) {
  return <SessionContext value={props.session}>{props.children}</SessionContext>;
}

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("useSession outside of SessionProvider");
  return session;
}

/** Whether the person may do what that role may. Nobody may change anything in a read-only dashboard. */
export function useMay(role: Role): boolean {
  const { readOnly } = useSession();
  const has = useHasRole(role);
  return has && (!readOnly || role === "reader");
}

export function useHasRole(role: Role): boolean {
  return ROLES.indexOf(useSession().role) >= ROLES.indexOf(role);
}

/** Renders its children only for people with that role: readers see no action buttons. */
export function For({ role, children }: { readonly role: Role; readonly children: ReactNode }) {
  return useMay(role) ? children : null;
}
