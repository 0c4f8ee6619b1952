import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { isLasting, type StorePatience, untilAnswered } from "../../calls/store-retry.ts";
import type { AnyWorkflow } from "../../define/definitions.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { RegisteredVersion } from "../../ports/versions.ts";
import { fingerprintOf, hasChanged } from "../code/code-fingerprint.ts";

/** How many times a starting worker asks the store before it reports that the store cannot be reached. */
const FAILURES_MAX = 10;

/**
 * Registers the worker's workflow versions, and warns once if the code of a version has changed: runs of that version may
 * not be able to continue with it.
 */
export async function announceVersions(
  ports: PortsBundle & StorePatience,
  namespace: string,
  workflows: readonly AnyWorkflow[],
  onChangedCode: "warn" | "refuse",
): Promise<void> {
  if (workflows.length === 0) return;
  const giveUp = (failures: number, error: unknown): boolean => failures >= FAILURES_MAX || isLasting(error);
  const versions = workflows.map(registered);
  if (onChangedCode === "refuse") {
    const known = await untilAnswered(ports, () => ports.store.versions.list({ namespace }), giveUp);
    for (const { workflow, version, hash } of versions) {
      const before = known.find((row) => row.workflow === workflow && row.version === version);
      if (before && hasChanged(before.hash, hash))
        throw new HoldfastError("version_changed", changed(workflow, version), { data: { workflow, version } });
    }
  }
  const before = await untilAnswered(ports, () => ports.store.versions.register({ namespace, versions }), giveUp);
  for (const [i, { workflow, version, hash }] of versions.entries()) {
    const row = before[i];
    if (row && hasChanged(row.hash, hash)) ports.log.warn({ workflow, version }, changed(workflow, version));
  }
}

function registered({ name, version, fn, queue, priority, timeoutMs, keyOf }: AnyWorkflow): RegisteredVersion {
  const starts = { queue, priority, timeoutMs: timeoutMs ?? null, keyed: keyOf !== undefined };
  return { workflow: name, version, hash: fingerprintOf(fn), starts };
}

function changed(workflow: string, version: string): string {
  return (
    `The code of workflow "${workflow}" version "${version}" has changed. Open runs continue if it still ` +
    "fits their history, and are parked if not. Use ctx.patched for changes, or a new version."
  );
}
