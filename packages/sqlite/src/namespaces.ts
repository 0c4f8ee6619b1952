import type { NamespacePair } from "holdfast/adapter";
import type { Call } from "./database/call.ts";

const IS_ALLOWED = "select 1 from holdfast_namespaces where name = ? and allows = ?";

export function allowNamespace({ sql }: Call, { namespace, other }: NamespacePair): void {
  sql.run("insert into holdfast_namespaces (name, allows) values (?, ?) on conflict do nothing", namespace, other);
}

export function disallowNamespace({ sql }: Call, { namespace, other }: NamespacePair): void {
  sql.run("delete from holdfast_namespaces where name = ? and allows = ?", namespace, other);
}

export function readNamespace({ sql }: Call, { namespace }: { readonly namespace: string }): { allows: string[] } {
  const rows = sql.all<{ allows: string }>("select allows from holdfast_namespaces where name = ?", namespace);
  return { allows: rows.map(({ allows }) => allows).sort() };
}

/** Whether runs of `other` may reach runs of the namespace. Undefined: nobody's run does. */
export function isAllowed({ sql }: Call, namespace: string, other: string | undefined): boolean {
  return other === undefined || other === namespace || sql.columns(IS_ALLOWED, namespace, other) !== undefined;
}
