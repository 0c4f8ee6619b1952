import type { AuditPage } from "../api/settings-messages.ts";
import { wholeNumber } from "./query-values.ts";
import type { Ask, Scope } from "./scope.ts";
import { SESSION_NAME } from "./settings.ts";

const PAGE_MAX = 200;
/** With filters, so many entries are looked at for one page. */
const SEEN_MAX = 5_000;

export async function audit({ scope, query }: Ask): Promise<AuditPage> {
  const { access } = scope.store;
  if (!access) return { available: false, entries: [], cursor: null };
  const limit = Math.max(1, wholeNumber(query, "limit", 100, PAGE_MAX));
  const [actor, action, subject] = ["actor", "action", "subject"].map((name) => query.get(name));
  const names = await keyNames(scope);
  let before = query.get("cursor") ? wholeNumber(query, "cursor", 0, Number.MAX_SAFE_INTEGER) : null;
  const found: AuditPage["entries"][number][] = [];
  for (let seen = 0; ; ) {
    const rows = await access.listAudit({ namespace: scope.namespace, before, limit: PAGE_MAX });
    for (const { number, eventId: _, ...row } of rows) {
      seen += 1;
      before = number;
      if ((actor && row.actor !== actor && names.get(row.actor) !== actor) || (action && row.action !== action))
        continue;
      if (subject && !row.subject.includes(subject)) continue;
      found.push({ ...row, actorName: names.get(row.actor) ?? null });
      if (found.length === limit) return { available: true, entries: found, cursor: `${before}` };
    }
    if (rows.length < PAGE_MAX) return { available: true, entries: found, cursor: null };
    if (seen >= SEEN_MAX) return { available: true, entries: found, cursor: `${before}` };
  }
}

/** What the people who made the keys have called them, by their ids. */
async function keyNames({ store, visitor, namespace }: Scope): Promise<ReadonlyMap<string, string>> {
  const everywhere = visitor.namespaces.includes("*");
  const keys = (await store.access?.listKeys({ namespace: everywhere ? null : namespace })) ?? [];
  return new Map(keys.filter(({ name }) => !name.startsWith(SESSION_NAME)).map(({ id, name }) => [id, name]));
}
