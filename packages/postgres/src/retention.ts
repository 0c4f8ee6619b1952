import type { NamespaceRetention, RetentionRules } from "holdfast/adapter";
import type { Server } from "./database/server.ts";
import { callOf, queryOf } from "./database/server-call.ts";

const SET = callOf<NamespaceRetention & { readonly notify: boolean }>("set_retention", {
  p_namespace: ({ namespace }) => namespace,
  p_rules: ({ rules }) => (Object.keys(rules).length > 0 ? JSON.stringify(rules) : null),
  p_notify: ({ notify }) => notify,
});
const READ = queryOf<{ readonly namespace: string }>(
  "read_retention",
  (at) => `select t.rules::text from ${at}.retention t where t.namespace = $p_namespace`,
  { p_namespace: ({ namespace }) => namespace },
);
const LIST = queryOf<unknown>(
  "list_retention",
  (at) => `select t.namespace, t.rules::text from ${at}.retention t order by t.namespace`,
  {},
);

export async function setRetention(server: Server, params: NamespaceRetention): Promise<void> {
  await server.write(SET, { ...params, notify: server.notify });
}

export async function readRetention(server: Server, params: { readonly namespace: string }): Promise<RetentionRules> {
  const [row] = await server.read(READ, params);
  return row ? rulesOf(row.rules) : {};
}

export async function listRetention(server: Server): Promise<readonly NamespaceRetention[]> {
  const rows = await server.read(LIST, undefined);
  return rows.map((row) => ({ namespace: row.namespace as string, rules: rulesOf(row.rules) }));
}

function rulesOf(stored: unknown): RetentionRules {
  return JSON.parse(stored as string) as RetentionRules;
}
