import {
  invalidOption,
  type OptionCheck,
  type OptionChecks,
  requireDuration,
  requireOptions,
} from "../errors/option-checks.ts";
import { type Duration, formatDuration } from "../model/duration.ts";
import { RETENTION_MS_MIN, type RetentionRules } from "../model/retention.ts";
import type { ClosedStatus } from "../model/run-status.ts";
import type { ClientCore } from "./client-core.ts";

/** How long runs are kept once they have ended, by how they have ended. At least 1 min. */
export interface RetentionOptions {
  /**
   * Runs that have completed.
   * @defaultValue they are kept
   */
  readonly completed?: Duration;
  /**
   * Runs that have failed.
   * @defaultValue they are kept
   */
  readonly failed?: Duration;
  /**
   * Runs that were canceled.
   * @defaultValue they are kept
   */
  readonly canceled?: Duration;
  /**
   * Runs that were terminated.
   * @defaultValue they are kept
   */
  readonly terminated?: Duration;
  /**
   * Runs whose timeout has passed.
   * @defaultValue they are kept
   */
  readonly timed_out?: Duration;
  /**
   * Runs that have continued as new.
   * @defaultValue they are kept
   */
  readonly continued?: Duration;
  /**
   * Runs that have moved to another store, once they have arrived there.
   * @defaultValue they are kept
   */
  readonly moved?: Duration;
}

const isKept: OptionCheck = (value, where, option) => {
  const ms = requireDuration(value as Duration, where, option);
  if (ms >= RETENTION_MS_MIN) return;
  throw invalidOption(where, option, `is ${formatDuration(ms)}; the minimum is ${formatDuration(RETENTION_MS_MIN)}`);
};

const OPTIONS: OptionChecks<RetentionOptions> = {
  completed: isKept,
  failed: isKept,
  canceled: isKept,
  terminated: isKept,
  timed_out: isKept,
  continued: isKept,
  moved: isKept,
};

const WHERE = "retention.set";

/** How long the runs of the namespace are kept once they have ended: `hf.retention`. */
export class Retention {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  /**
   * Replaces what was set before: runs of a status that is left out are kept. Resolves when it is durable. The leader of the store
   * deletes what is older, at least once a minute, in small batches.
   */
  async set(options: RetentionOptions): Promise<void> {
    requireOptions(options, OPTIONS, WHERE);
    const { namespace } = this.#core;
    const given = Object.entries(options).filter(([, kept]) => kept !== undefined) as [ClosedStatus, Duration][];
    const rules: RetentionRules = Object.fromEntries(
      given.map(([status, kept]) => [status, requireDuration(kept, WHERE, status)]),
    );
    await this.#core.call((store) => store.retention.set({ namespace, rules }));
  }

  /** What is set; empty if all runs are kept. */
  async get(): Promise<RetentionOptions> {
    const { namespace } = this.#core;
    const rules = await this.#core.call((store) => store.retention.read({ namespace }));
    return Object.fromEntries(Object.entries(rules).map(([status, ms]) => [status, formatDuration(ms)]));
  }
}
