import { requireName } from "../errors/option-checks.ts";
import type { ClientCore } from "./client-core.ts";

/** Which other namespaces may reach the runs of this one: `hf.namespaces`. */
export class Namespaces {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  /** Runs of that namespace may send signals and cancels to runs of this one, and wait for their results. */
  async allow(other: string): Promise<void> {
    requireName(other, "namespace");
    const { namespace } = this.#core;
    await this.#core.call((store) => store.namespaces.allow({ namespace, other }));
  }

  /** Takes that back. What has been sent stays. */
  async disallow(other: string): Promise<void> {
    requireName(other, "namespace");
    const { namespace } = this.#core;
    await this.#core.call((store) => store.namespaces.disallow({ namespace, other }));
  }

  /** The namespaces that may reach the runs of this one. */
  async allowed(): Promise<readonly string[]> {
    const { namespace } = this.#core;
    return (await this.#core.call((store) => store.namespaces.read({ namespace }))).allows;
  }
}
