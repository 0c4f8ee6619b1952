import type { RetentionRules } from "../model/retention.ts";
import type { NamespaceRetention } from "../ports/store.ts";
import type { MemoryState } from "./state.ts";

export function setRetention(state: MemoryState, { namespace, rules }: NamespaceRetention): void {
  if (Object.keys(rules).length > 0) state.retention.set(namespace, rules);
  else state.retention.delete(namespace);
  state.hints.push({ type: "retention" });
}

export function readRetention(state: MemoryState, { namespace }: { readonly namespace: string }): RetentionRules {
  return state.retention.get(namespace) ?? {};
}

export function listRetention(state: MemoryState): readonly NamespaceRetention[] {
  const all = [...state.retention].map(([namespace, rules]) => ({ namespace, rules }));
  return all.sort((a, b) => (a.namespace < b.namespace ? -1 : 1));
}
