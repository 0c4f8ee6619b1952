/** Who is let in, and how somebody logs in. */

import { refusal } from "../answers/refusal.ts";
import type { DashboardOptions } from "../dashboard-options.ts";
import { isLocal } from "./browser-rules.ts";
import { checkedVisitor, type Visitor } from "./visitor.ts";

/** Logins of the dashboard itself; an application that mounts it has its own. */
export interface Logins {
  login(key: unknown, request: Request): Promise<{ readonly visitor: Visitor; readonly cookie: string }>;
  logout(request: Request): Promise<string>;
  /** Calls `ended` once the session of the request has ended, or its key has. Returns the function that stops following it. */
  follow(request: Request, ended: () => void): () => void;
}

const ANYONE: Visitor = { user: "local", role: "admin", namespaces: ["*"], payloads: "full" };

/** The visitor; or the answer for somebody who is not let in. */
export async function visitorAt(
  request: Request,
  auth: DashboardOptions["auth"],
): Promise<ReturnType<typeof checkedVisitor> | Response> {
  if (auth === "open") {
    if (isLocal(request)) return checkedVisitor(ANYONE);
    throw refusal(
      403,
      "not_local",
      'This dashboard is open to its own machine only: auth is "open", and the request names another host or came through a proxy.',
    );
  }
  const found = await auth(request);
  return found instanceof Response ? found : checkedVisitor(found);
}
