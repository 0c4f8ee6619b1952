/** The dashboard of a server process: the option `dashboard` of `openServer` takes `serverDashboard`. */
import type { Client } from "holdfast";
import type { AccessStore, Clock, Random, Role } from "holdfast/adapter";
import { refusal } from "../answers/refusal.ts";
import { makeDashboard } from "../dashboard.ts";
import type { Auth, DashboardOptions } from "../dashboard-options.ts";
import type { Logins } from "../gate/door.ts";
import { KeySessions, requireKey } from "../gate/key-sessions.ts";
import type { Visitor } from "../gate/visitor.ts";
import { addressOf } from "../request-address.ts";
import { type NodeHandler, toNode } from "./node-handler.ts";

/** What a server offers. */
export interface ServerHost {
  readonly client: Client;
  readonly access: AccessStore | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** Who gets in: everybody on this machine, everybody who reaches the server, or those who log in. */
  readonly door: "local" | "everybody" | "login";
  /** Whether an API key opens a session. */
  readonly keys: boolean;
  principalOf(credentials: { readonly authorization: string | null; readonly address: string }): Promise<Principal>;
  readonly draining: AbortSignal;
}

/** Who sends a request, and what they may do. */
export interface Principal {
  readonly id: string;
  readonly grants: readonly { readonly role: Role; readonly namespace: string }[];
}

const ROLES: readonly Role[] = ["reader", "writer", "worker", "admin"];
const EVERYBODY: Visitor = { user: "anonymous", role: "admin", namespaces: ["*"], payloads: "full" };

/** Mounts the dashboard at `/`. People log in with an API key; programs send it as a bearer token. */
export function serverDashboard(
  host: ServerHost,
  options: Pick<DashboardOptions, "readOnly" | "redact" | "codecUrl" | "origins"> = {},
): { readonly handler: NodeHandler; close(): Promise<void> } {
  const sessions = sessionsOf(host);
  const auth = authOf(host, sessions);
  const logins: Logins | undefined = sessions && {
    login: (key, request) => sessions.login(requireKey(key), request),
    logout: (request) => sessions.logout(request),
    follow: (request, ended) => sessions.follow(request, ended),
  };
  const board = makeDashboard(host.client, { base: "/", auth, ...options }, logins);
  host.draining.addEventListener("abort", () => board.drain());
  return { handler: toNode(board), close: () => board.close() };
}

function sessionsOf(host: ServerHost): KeySessions | undefined {
  const { access, clock, random, door, keys, principalOf } = host;
  if (door !== "login" || !keys || !access) return undefined;
  return new KeySessions({
    access,
    clock,
    random,
    async grantOf(key, request) {
      const { id, grants } = await principalOf({
        authorization: `Bearer ${key}`,
        address: addressOf(request) ?? "",
      });
      const [grant] = grants;
      if (!grant || !(await access.readKey({ id })))
        throw refusal(401, "unauthenticated", "That is no API key. Programs send other tokens themselves.");
      return { id, ...grant };
    },
  });
}

function authOf(host: ServerHost, sessions: KeySessions | undefined): Auth | "open" {
  const { door, principalOf } = host;
  if (door === "local") return "open";
  if (door === "everybody") return () => EVERYBODY;
  return async (request) => {
    const known = await sessions?.visitorOf(request);
    if (known) return known;
    const authorization = request.headers.get("authorization");
    if (authorization === null && sessions)
      throw refusal(401, "unauthenticated", "Log in with an API key, or send one: Authorization: Bearer <key>.");
    return visitorOf(await principalOf({ authorization, address: addressOf(request) ?? "" }));
  };
}

/** Of several grants those of the highest role count: a visitor has one role. */
function visitorOf({ id, grants }: Principal): Visitor {
  const rank = Math.max(...grants.map(({ role }) => ROLES.indexOf(role)));
  const role = ROLES[rank] ?? "reader";
  const namespaces = grants.filter((grant) => grant.role === role).map(({ namespace }) => namespace);
  return { user: id, role: role === "worker" ? "writer" : role, namespaces, payloads: "full" };
}
