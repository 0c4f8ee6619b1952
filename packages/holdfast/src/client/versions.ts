import { HoldfastError } from "../errors/holdfast-error.ts";
import { invalidOption, isBoolean, requireName } from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { VersionRow } from "../model/version-row.ts";
import type { UpdateVersionParams } from "../ports/store.ts";
import type { ClientCore } from "./client-core.ts";

/** The versions of workflows, and which one new runs get. Existing runs stay on theirs. */
export class Versions {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  /** The versions that workers have offered, for one workflow or for all. */
  async list(workflow?: string): Promise<readonly VersionRow[]> {
    if (workflow !== undefined) requireName(workflow, "workflow name");
    const { namespace } = this.#core;
    return this.#core.call((store) =>
      store.versions.list({ namespace, ...(workflow === undefined ? {} : { workflow }) }),
    );
  }

  /** From now on, starts that name no version get this one. */
  setDefault(workflow: string, version: string): Promise<void> {
    return this.#update(workflow, version, { isDefault: true });
  }

  /**
   * A share of the starts that name no version gets this version, the rest the default: 0.05 is one in twenty, 0 ends
   * it.
   */
  async canary(workflow: string, version: string, share: number): Promise<void> {
    if (typeof share !== "number" || !(share >= 0 && share <= 1))
      throw invalidOption("versions.canary", "share", `is ${shownValue(share)}; it must be between 0 and 1`);
    await this.#update(workflow, version, { share });
  }

  /** Marks a version as deprecated, or removes the mark; its runs continue. */
  async deprecate(workflow: string, version: string, deprecated = true): Promise<void> {
    isBoolean(deprecated, "versions.deprecate", "deprecated");
    return this.#update(workflow, version, { deprecated });
  }

  async #update(workflow: string, version: string, change: UpdateVersionParams["change"]): Promise<void> {
    requireName(workflow, "workflow name");
    requireName(version, "version");
    const { namespace } = this.#core;
    const { known } = await this.#core.call((store) =>
      store.versions.updateIfKnown({ namespace, workflow, version, change }),
    );
    if (known) return;
    const message = `No worker has ever offered version "${version}" of workflow "${workflow}". Deploy a worker that has it first.`;
    throw new HoldfastError("version_not_registered", message, { data: { workflow, version } });
  }
}
