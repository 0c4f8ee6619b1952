import type { RegisterVersionsParams, UpdateVersionParams, VersionRow } from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import type { Server } from "./database/server.ts";
import { callOf, queryOf } from "./database/server-call.ts";
import { versionOf } from "./runs/run-rows.ts";

const REGISTER = callOf<RegisterVersionsParams>(
  "register_versions",
  {
    p_namespace: ({ namespace }) => namespace,
    p_workflow: ({ versions }) => binary.textArray(versions, (version) => version.workflow),
    p_version: ({ versions }) => binary.textArray(versions, (version) => version.version),
    p_hash: ({ versions }) => binary.textArray(versions, (version) => version.hash),
    p_starts: ({ versions }) => binary.textArray(versions, ({ starts }) => (starts ? JSON.stringify(starts) : null)),
  },
  "i, (c.was).*",
);

const UPDATE = callOf<UpdateVersionParams>(
  "update_version",
  {
    p_namespace: ({ namespace }) => namespace,
    p_workflow: ({ workflow }) => workflow,
    p_version: ({ version }) => version,
    p_default: ({ change }) => "isDefault" in change,
    p_share: ({ change }) => ("share" in change ? change.share : null),
    p_deprecated: ({ change }) => ("deprecated" in change ? change.deprecated : null),
  },
  "c as known",
);

interface Asked {
  readonly namespace: string;
  readonly workflow?: string;
}

const LIST = queryOf<Asked>(
  "list_versions",
  (at) => `
    select * from ${at}.versions where namespace = $namespace and ($workflow::text is null or workflow = $workflow)
     order by workflow collate "C", registered_at, version collate "C"`,
  { namespace: ({ namespace }) => namespace, workflow: ({ workflow }) => workflow ?? null },
);

export async function registerVersions(
  server: Server,
  params: RegisterVersionsParams,
): Promise<readonly (VersionRow | null)[]> {
  const before: (VersionRow | null)[] = params.versions.map(() => null);
  for (const row of await server.write(REGISTER, params))
    before[(row.i as number) - 1] = row.version === null ? null : versionOf(row);
  return before;
}

export async function updateVersionIfKnown(
  server: Server,
  params: UpdateVersionParams,
): Promise<{ readonly known: boolean }> {
  return { known: (await server.writeOne(UPDATE, params)).known as boolean };
}

export async function listVersions(server: Server, params: Asked): Promise<readonly VersionRow[]> {
  return (await server.read(LIST, params)).map(versionOf);
}
