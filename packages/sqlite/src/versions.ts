import {
  chooseVersion,
  type RegisterVersionsParams,
  type StartDefaults,
  type StartRun,
  type UpdateVersionParams,
  type VersionRow,
} from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import type { Connection } from "./database/connection.ts";

const SELECT = `
  select version_key as versionKey, namespace, workflow, version, hash, is_default as isDefault, share, deprecated,
    registered_at as registeredAt, starts
  from holdfast_versions`;
const SELECT_ONE = `${SELECT} where namespace = ? and workflow = ? and version = ?`;
const REGISTER_AGAIN = "update holdfast_versions set hash = ?, starts = coalesce(?, starts) where version_key = ?";
/** In the order of registration. */
const SELECT_OF_WORKFLOW = `${SELECT} where namespace = ? and workflow = ? order by version_key`;

interface StoredVersion {
  readonly versionKey: number;
  readonly namespace: string;
  readonly workflow: string;
  readonly version: string;
  readonly hash: string;
  readonly isDefault: number;
  readonly share: number;
  readonly deprecated: number;
  readonly registeredAt: number;
  readonly starts: string | null;
}

export function registerVersions(call: Call, params: RegisterVersionsParams): (VersionRow | null)[] {
  const { sql, now } = call;
  const { namespace } = params;
  return params.versions.map(({ workflow, version, hash, starts }) => {
    const stored = starts ? JSON.stringify(starts) : null;
    const known = sql.get<StoredVersion>(SELECT_ONE, namespace, workflow, version);
    if (known) {
      sql.run(REGISTER_AGAIN, hash, stored, known.versionKey);
      return toRow(known);
    }
    sql.run(
      `insert into holdfast_versions (namespace, workflow, version, hash, is_default, share, deprecated, registered_at, starts)
       values (?, ?, ?, ?, 0, 0, 0, ?, ?)`,
      ...[namespace, workflow, version, hash, now, stored],
    );
    return null;
  });
}

export function updateVersionIfKnown({ sql }: Call, params: UpdateVersionParams): { known: boolean } {
  const { namespace, workflow, version, change } = params;
  if (!sql.get(SELECT_ONE, namespace, workflow, version)) return { known: false };
  if ("deprecated" in change) {
    sql.run(
      "update holdfast_versions set deprecated = ? where namespace = ? and workflow = ? and version = ?",
      ...[Number(change.deprecated), namespace, workflow, version],
    );
  } else if ("share" in change) {
    sql.run(
      "update holdfast_versions set share = iif(version = ?, ?, 0) where namespace = ? and workflow = ?",
      ...[version, change.share, namespace, workflow],
    );
  } else {
    sql.run(
      "update holdfast_versions set is_default = (version = ?) where namespace = ? and workflow = ?",
      ...[version, namespace, workflow],
    );
  }
  return { known: true };
}

export function listVersions({ sql }: Call, params: { namespace: string; workflow?: string }): VersionRow[] {
  const { namespace, workflow } = params;
  const order = "order by workflow, registered_at, version";
  const rows =
    workflow === undefined
      ? sql.all<StoredVersion>(`${SELECT} where namespace = ? ${order}`, namespace)
      : sql.all<StoredVersion>(`${SELECT} where namespace = ? and workflow = ? ${order}`, namespace, workflow);
  return rows.map(toRow);
}

/** The version of a start that names none. Computed once per call: starts do not change the versions. */
export class VersionChoice {
  readonly #sql: Connection;
  readonly #versions = new Map<string, readonly StoredVersion[]>();

  constructor({ sql }: Call) {
    this.#sql = sql;
  }

  of({ pick, run }: StartRun): string {
    return chooseVersion(run.version, pick, () => this.#versionsOf(run.namespace, run.workflow));
  }

  #versionsOf(namespace: string, workflow: string): readonly StoredVersion[] {
    const text = `${namespace}\n${workflow}`;
    const known = this.#versions.get(text);
    if (known) return known;
    const rows = this.#sql.all<StoredVersion>(SELECT_OF_WORKFLOW, namespace, workflow);
    this.#versions.set(text, rows);
    return rows;
  }
}

function toRow(stored: StoredVersion): VersionRow {
  const { versionKey: _versionKey, ...row } = stored;
  const starts = stored.starts === null ? null : (JSON.parse(stored.starts) as StartDefaults);
  return { ...row, isDefault: stored.isDefault === 1, deprecated: stored.deprecated === 1, starts };
}
