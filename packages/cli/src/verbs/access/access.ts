/** `token`, `namespace` and `audit`: who may use a store through servers. */
import type { Role } from "holdfast/adapter";
import type { Call } from "../../command/call.ts";
import { readTime } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { relativeTime } from "../../output/times.ts";
import { withOperator } from "./open-operator.ts";
import type { Operator } from "./operator.ts";

const CREATE = { create: true };

export const createToken: Action = (call) => {
  const work = async (operator: Operator): Promise<undefined> => {
    const namespace = call.target().namespace ?? "default";
    const expiresAt = readTime(call, "expires", "ahead") ?? null;
    const asked = { name: call.text("name") ?? "", role: call.required("role") as Role, namespace, expiresAt };
    const { id, token, role, ...made } = await operator.createToken(asked);
    call.out.record({ id, token, role, namespace: made.namespace, expiresAt: made.expiresAt });
    call.out.line(token);
    call.out.note(`Key ${id}: ${role} in ${made.namespace}. The token is shown once.`);
    return undefined;
  };
  return withOperator(call, work, CREATE);
};

export const listTokens: Action = (call) =>
  withOperator(call, async (operator) => {
    const now = call.io.now();
    call.out.table(
      await operator.listTokens(namespaceOf(call)),
      [
        { title: "ID", value: ({ id }) => id },
        { title: "NAME", value: ({ name }) => name, cut: "end", optional: true },
        { title: "ROLE", value: ({ role }) => role },
        { title: "NAMESPACE", value: ({ namespace }) => namespace, cut: "middle" },
        { title: "CREATED", value: ({ createdAt }) => relativeTime(createdAt, now) },
        { title: "EXPIRES", value: ({ expiresAt }) => expiresAt?.toISOString() ?? "", optional: true },
        { title: "LAST USED", value: ({ lastUsedAt }) => (lastUsedAt ? relativeTime(lastUsedAt, now) : "never") },
        { title: "REVOKED", value: ({ revokedAt }) => (revokedAt ? relativeTime(revokedAt, now) : ""), optional: true },
      ],
      "There are no keys.",
    );
    return undefined;
  });

export const revokeToken: Action = (call) =>
  withOperator(call, async (operator) => {
    const id = call.argument("id");
    const key = await operator.revokeToken(id, namespaceOf(call));
    call.out.done(`Revoked ${id}; servers refuse it after five seconds, and end its sessions within a minute`, key);
    return undefined;
  });

export const createNamespace: Action = (call) => {
  const work = async (operator: Operator): Promise<undefined> => {
    const namespace = call.argument("name");
    const words = { displayName: call.text("display-name") ?? "", description: call.text("description") ?? "" };
    call.out.done(`Created namespace ${namespace}`, await operator.createNamespace({ namespace, ...words }));
    return undefined;
  };
  return withOperator(call, work, CREATE);
};

export const listNamespaces: Action = (call) =>
  withOperator(call, async (operator) => {
    call.out.table(
      await operator.listNamespaces(),
      [
        { title: "NAMESPACE", value: ({ namespace }) => namespace, cut: "middle" },
        { title: "STATE", value: ({ enabled }) => (enabled ? "enabled" : "disabled") },
        { title: "NAME", value: ({ displayName }) => displayName, cut: "end", optional: true },
        { title: "CREATED", value: ({ createdAt }) => relativeTime(createdAt, call.io.now()) },
      ],
      "There are no namespaces: they are created when they are first used through a server.",
    );
    return undefined;
  });

export const enableNamespace: Action = (call) => setEnabled(call, true);
export const disableNamespace: Action = (call) => setEnabled(call, false);

function setEnabled(call: Call, enabled: boolean): Promise<undefined> {
  return withOperator(call, async (operator) => {
    const name = call.argument("name");
    const changed = await operator.setEnabled(name, enabled);
    call.out.done(`${enabled ? "Enabled" : "Disabled"} namespace ${name}`, changed);
    return undefined;
  });
}

export const listAudit: Action = (call) =>
  withOperator(call, async (operator) => {
    call.out.table(
      await operator.listAudit(namespaceOf(call), call.number("limit") ?? 50),
      [
        { title: "AT", value: ({ at }) => at.toISOString() },
        { title: "WHO", value: ({ actor }) => actor, cut: "middle" },
        { title: "WHAT", value: ({ action }) => action },
        { title: "NAMESPACE", value: ({ namespace }) => namespace, cut: "middle" },
        { title: "SUBJECT", value: ({ subject }) => subject, cut: "middle" },
        { title: "OUTCOME", value: ({ outcome }) => outcome },
        { title: "ADDRESS", value: ({ address }) => address, optional: true },
      ],
      "There are no events.",
    );
    return undefined;
  });

/** `*` is the same as none: all of them. */
function namespaceOf(call: Call): string | null {
  const { namespace } = call.target();
  return namespace === undefined || namespace === "*" ? null : namespace;
}
