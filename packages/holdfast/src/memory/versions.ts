import { chooseVersion } from "../model/decisions/version-choice.ts";
import type { VersionRow } from "../model/version-row.ts";
import type { RegisterVersionsParams, StartRun, UpdateVersionParams } from "../ports/store.ts";
import type { MemoryState, VersionState } from "./state.ts";

export function registerVersions(
  state: MemoryState,
  params: RegisterVersionsParams,
  now: number,
): (VersionRow | null)[] {
  return params.versions.map(({ workflow, version, hash, starts }) => {
    const key = keyOf(params.namespace, workflow, version);
    const known = state.versions.get(key);
    if (known) {
      const before = { ...known };
      known.hash = hash;
      if (starts) known.starts = starts;
      return before;
    }
    const { namespace } = params;
    const fresh = { isDefault: false, share: 0, deprecated: false, registeredAt: now };
    state.versions.set(key, { namespace, workflow, version, hash, ...fresh, starts: starts ?? null });
    return null;
  });
}

export function updateVersionIfKnown(state: MemoryState, params: UpdateVersionParams): { known: boolean } {
  const { namespace, workflow, version, change } = params;
  const row = state.versions.get(keyOf(namespace, workflow, version));
  if (!row) return { known: false };
  if ("deprecated" in change) row.deprecated = change.deprecated;
  for (const other of versionsOf(state, namespace, workflow)) {
    if ("isDefault" in change) other.isDefault = other === row;
    if ("share" in change) other.share = other === row ? change.share : 0;
  }
  return { known: true };
}

export function listVersions(state: MemoryState, params: { namespace: string; workflow?: string }): VersionRow[] {
  const rows = [...state.versions.values()].filter(
    (row) => row.namespace === params.namespace && (params.workflow === undefined || row.workflow === params.workflow),
  );
  rows.sort(
    (a, b) => compare(a.workflow, b.workflow) || a.registeredAt - b.registeredAt || compare(a.version, b.version),
  );
  return rows.map((row) => ({ ...row }));
}

export function pickVersion(state: MemoryState, start: StartRun): string {
  const { pick, run } = start;
  return chooseVersion(run.version, pick, () => versionsOf(state, run.namespace, run.workflow));
}

function versionsOf(state: MemoryState, namespace: string, workflow: string): VersionState[] {
  return [...state.versions.values()].filter((row) => row.namespace === namespace && row.workflow === workflow);
}

function keyOf(namespace: string, workflow: string, version: string): string {
  return `${namespace}\n${workflow}\n${version}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
