/**
 * Receives hints by LISTEN, on its own connection. NOTIFY is part of the statements themselves. This process tells its own
 * subscribers directly what it has committed, and ignores the echo.
 *
 * A lost connection is reopened after 1 s, then 2, 4 … 30 s. A connection that only listens would never notice that it has
 * gone silent, so it is probed now and then. Sweeps find what was missed meanwhile.
 *
 * None of this keeps the process alive: a worker, or a caller that waits for a result, has a timer of its own.
 */
import type { Clock, Hint, Logger, Notifier, Random, Timer } from "holdfast/adapter";
import { type Client, endClient, newClient, runScript, unrefClient } from "./database/driver.ts";
import { quoteName, type Settings } from "./database/settings.ts";
import { readHints } from "./hints.ts";

const BACKOFF_MS_FIRST = 1_000;
const BACKOFF_MS_MAX = 30_000;
const CHECK_MS = 30_000;

export interface NotifierParams {
  readonly settings: Settings;
  readonly where: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Whether a backend serves this process. */
  readonly owns: (serverProcess: number) => boolean;
}

export class PostgresNotifier implements Notifier {
  readonly #params: NotifierParams;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #client: Client | undefined;
  #timer: Timer | undefined;
  #failures = 0;
  #closed = false;
  #listening: { readonly promise: Promise<void>; readonly resolve: () => void } = deferred();

  constructor(params: NotifierParams) {
    this.#params = params;
  }

  /** Resolves as soon as notifications can arrive; at once if they already can. */
  get listening(): Promise<void> {
    return this.#listening.promise;
  }

  publish(hints: readonly Hint[]): void {
    if (hints.length === 0 || this.#listeners.size === 0) return;
    this.#params.clock.immediate(() => {
      for (const listener of [...this.#listeners]) for (const hint of hints) listener(hint);
    });
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Settles when the first attempt to listen has succeeded or failed. */
  async start(): Promise<void> {
    if (this.#params.settings.notify) await this.#listen();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#listeners.clear();
    if (this.#client) await endClient(this.#client);
  }

  async #listen(): Promise<void> {
    const { settings, where, log } = this.#params;
    const client = newClient(settings);
    this.#client = client;
    client.on("notification", ({ processId, payload }) => {
      if (!this.#params.owns(processId)) this.publish(readHints(payload));
    });
    try {
      await client.connect();
      client.once("end", () => this.#lost(client, "the connection ended"));
      await runScript(client, `listen ${quoteName(settings.schema)}`);
      unrefClient(client);
      this.#failures = 0;
      this.#listening.resolve();
      log.debug({ where }, "listening for notifications");
      this.#checkLater(client);
    } catch (error) {
      this.#lost(client, error instanceof Error ? error.message : String(error));
      await endClient(client);
    }
  }

  #checkLater(client: Client): void {
    if (this.#closed || this.#client !== client) return;
    this.#timer = this.#params.clock.setTimer(CHECK_MS, () => {
      // If there is no answer, the driver closes the connection, and the loss is noticed.
      void runScript(client, "select 1").then(
        () => this.#checkLater(client),
        () => {},
      );
    });
    this.#timer.unref?.();
  }

  #lost(client: Client, reason: string): void {
    if (this.#closed || this.#client !== client) return;
    const { clock, random, where, log } = this.#params;
    this.#client = undefined;
    this.#timer?.cancel();
    this.#listening = deferred();
    const delayMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    log.warn(
      { where, reason, retryInMs: delayMs },
      "lost the connection for notifications from PostgreSQL; polling until it is back",
    );
    // A little early, at random, so that a fleet does not reconnect all at once.
    this.#timer = clock.setTimer(delayMs * (0.8 + 0.2 * random.next()), () => void this.#listen());
    this.#timer.unref?.();
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
