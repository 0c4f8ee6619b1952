import type { NamespaceRetention, RetentionRules } from "holdfast/adapter";
import type { Call } from "./database/call.ts";

const SET = `
  insert into holdfast_retention (namespace, rules) values (?, ?)
  on conflict (namespace) do update set rules = excluded.rules`;

interface StoredRules {
  readonly namespace: string;
  readonly rules: string;
}

export function setRetention({ sql, hints }: Call, { namespace, rules }: NamespaceRetention): void {
  if (Object.keys(rules).length > 0) sql.run(SET, namespace, JSON.stringify(rules));
  else sql.run("delete from holdfast_retention where namespace = ?", namespace);
  hints.push({ type: "retention" });
}

export function readRetention({ sql }: Call, { namespace }: { readonly namespace: string }): RetentionRules {
  const row = sql.get<StoredRules>("select namespace, rules from holdfast_retention where namespace = ?", namespace);
  return row ? (JSON.parse(row.rules) as RetentionRules) : {};
}

export function listRetention({ sql }: Call): readonly NamespaceRetention[] {
  const rows = sql.all<StoredRules>("select namespace, rules from holdfast_retention order by namespace");
  return rows.map(({ namespace, rules }) => ({ namespace, rules: JSON.parse(rules) as RetentionRules }));
}

/** Whether runs of any namespace are deleted some day. */
export function retains({ sql }: Call): boolean {
  return sql.get("select 1 as yes from holdfast_retention limit 1") !== undefined;
}
