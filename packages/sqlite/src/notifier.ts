import { type FSWatcher, watch } from "node:fs";
import type { Clock, Hint, Logger, Notifier, Timer } from "holdfast/adapter";

/** How often to poll for the hints of other processes when the file cannot be watched. */
const POLL_MS = 1_000;

export interface SqliteNotifierParams {
  readonly clock: Clock;
  readonly log: Logger;
  readonly file: string;
  /** Whether to receive hints from other processes. */
  readonly watch: boolean;
}

/**
 * Passes on hints within the process directly, and those of other processes when the file's bell rings (hint-log.ts). Until
 * it rings, nothing is read.
 */
export class SqliteNotifier implements Notifier {
  readonly #params: SqliteNotifierParams;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #readNews: (() => Promise<readonly Hint[]>) | undefined;
  #watcher: FSWatcher | undefined;
  #poll: Timer | undefined;
  #reading = false;
  #rungMeanwhile = false;
  #closed = false;

  constructor(params: SqliteNotifierParams) {
    this.#params = params;
  }

  /** From now on, this function reads the hints of other processes. */
  listen(readNews: () => Promise<readonly Hint[]>): void {
    this.#readNews = readNews;
    if (this.#params.watch) this.#watch();
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

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
    this.#poll?.cancel();
  }

  #watch(): void {
    const { file, log } = this.#params;
    try {
      this.#watcher = watch(file, { persistent: false }, () => this.#ring());
      this.#watcher.on("error", (error) => this.#pollInstead(error));
    } catch (error) {
      log.debug({ file }, "not watching the file");
      this.#pollInstead(error);
    }
  }

  /** The system may have run out of watches, or may not support them on this file system. */
  #pollInstead(error: unknown): void {
    const { file, log, clock } = this.#params;
    this.#watcher?.close();
    this.#watcher = undefined;
    if (this.#closed || this.#poll) return;
    log.warn(
      { file, error: String(error) },
      `cannot watch the file; polling every ${POLL_MS} ms for hints from other processes`,
    );
    const look = (): void => {
      this.#ring();
      this.#poll = clock.setTimer(POLL_MS, look);
      this.#poll.unref?.();
    };
    look();
  }

  #ring(): void {
    if (this.#closed || this.#listeners.size === 0) return;
    if (this.#reading) this.#rungMeanwhile = true;
    else void this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#reading = true;
    do {
      this.#rungMeanwhile = false;
      try {
        this.publish((await this.#readNews?.()) ?? []);
      } catch (error) {
        // Hints may be lost: workers and waiting callers poll as well.
        this.#params.log.debug({ file: this.#params.file, error: String(error) }, "could not read hints");
      }
    } while (this.#rungMeanwhile && !this.#closed);
    this.#reading = false;
  }
}
