/**
 * What starts by name get from the version that a worker has registered: its queue, priority and timeout, so that the limits of the
 * queue hold for them. It is looked up once in a while for each workflow. A key cannot be computed without the code: without one, runs
 * would get past the limits of their keys, so such a start is refused.
 */
import { HoldfastError } from "../errors/holdfast-error.ts";
import { chooseVersion } from "../model/decisions/version-choice.ts";
import type { StartDefaults, VersionRow } from "../model/version-row.ts";
import type { Clock } from "../ports/clock.ts";

const LOOK_AGAIN_MS = 5_000;
/** A worker may register the workflow at any moment. */
const UNKNOWN_MS = 100;
const WORKFLOWS_MAX = 1_000;

interface Look {
  readonly rows: readonly VersionRow[];
  readonly until: number;
}

export class RegisteredStarts {
  readonly #clock: Clock;
  readonly #read: (workflow: string) => Promise<readonly VersionRow[]>;
  /** By workflow. */
  readonly #looks = new Map<string, Look>();

  constructor(clock: Clock, read: (workflow: string) => Promise<readonly VersionRow[]>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** The versions of the workflow as they were a moment ago. */
  async versionsOf(workflow: string): Promise<readonly VersionRow[]> {
    const known = this.#looks.get(workflow);
    if (known && this.#clock.monotonic() < known.until) return known.rows;
    const rows = await this.#read(workflow);
    const until = this.#clock.monotonic() + (rows.length > 0 ? LOOK_AGAIN_MS : UNKNOWN_MS);
    if (this.#looks.size >= WORKFLOWS_MAX) this.#looks.clear();
    this.#looks.set(workflow, { rows, until });
    return rows;
  }
}

/** Of the version that the start gets. If nobody has registered that one, the last one that was registered says most about it. */
export function defaultsOf(
  rows: readonly VersionRow[],
  own: string,
  pick: number | null,
): { readonly version: string; readonly starts: StartDefaults } | undefined {
  const chosen = chooseVersion(own, pick, () => rows);
  const row = rows.find(({ version }) => version === chosen) ?? rows.at(-1);
  return row?.starts ? { version: row.version, starts: row.starts } : undefined;
}

export function keyMissing(workflow: string, version: string): HoldfastError {
  const where = `start of workflow "${workflow}"`;
  const message = `${where}: the option key is missing. Runs of version "${version}" have a key that its code computes from the input, and no worker of this process has that code. Pass key, or start the workflow by its definition from a process that has it.`;
  return new HoldfastError("invalid_option", message, { data: { where, option: "key", workflow, version } });
}
