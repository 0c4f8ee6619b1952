import { backoff, isTransient, type StorePatience } from "../../calls/store-retry.ts";
import { type Message, messagesByRun } from "../../model/message.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Store } from "../../ports/store.ts";
import type { HeldRun } from "../execute/held-run.ts";

/** Fetches messages for held runs that are behind: one call for all of them, one call at a time. */
export class InboxReader {
  readonly #params: StorePatience & { readonly clock: Clock; readonly store: Store; readonly log: Logger };
  readonly #wanted = new Set<HeldRun>();
  #busy = false;

  constructor(params: StorePatience & { readonly clock: Clock; readonly store: Store; readonly log: Logger }) {
    this.#params = params;
  }

  pull(executor: HeldRun): void {
    this.#wanted.add(executor);
    if (this.#busy) return;
    this.#busy = true;
    this.#params.clock.immediate(() => void this.#readAll());
  }

  /** A message that is already known; earlier ones may be missing. */
  hand(executor: HeldRun, message: Message): void {
    executor.takeMessages([message]);
    if (executor.isBehind(message.number)) this.pull(executor);
    executor.poke();
  }

  async #readAll(): Promise<void> {
    for (let failures = 0; this.#wanted.size > 0; ) {
      const executors = [...this.#wanted].filter((executor) => executor.here);
      this.#wanted.clear();
      const runs = executors.map(({ run, queuedMessages }) => {
        return { namespace: run.namespace, runId: run.runId, after: queuedMessages };
      });
      if (runs.length === 0) continue;
      try {
        const messages = await this.#params.store.inbox.read({ runs });
        failures = 0;
        const messagesOf = messagesByRun(messages);
        for (const executor of executors) executor.takeMessages(messagesOf(executor.runId));
      } catch (error) {
        if (!isTransient(error)) this.#params.log.error({ error: String(error) }, "reading inboxes failed");
        for (const executor of executors) this.#wanted.add(executor);
        failures += 1;
        await backoff(this.#params, failures);
      }
    }
    this.#busy = false;
  }
}
