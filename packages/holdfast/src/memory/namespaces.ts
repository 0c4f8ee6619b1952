import type { NamespacePair } from "../ports/store.ts";
import type { MemoryState } from "./state.ts";

export function allowNamespace(state: MemoryState, { namespace, other }: NamespacePair): void {
  const allowed = state.allows.get(namespace);
  if (allowed) allowed.add(other);
  else state.allows.set(namespace, new Set([other]));
}

export function disallowNamespace(state: MemoryState, { namespace, other }: NamespacePair): void {
  state.allows.get(namespace)?.delete(other);
}

export function readNamespace(state: MemoryState, { namespace }: { readonly namespace: string }) {
  return { allows: [...(state.allows.get(namespace) ?? [])].sort() };
}
