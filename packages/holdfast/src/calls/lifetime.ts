import { HoldfastError } from "../errors/holdfast-error.ts";

/** The time between connect() and close(). Everything that waits during it learns of its end at once. */
export class Lifetime {
  readonly #watchers = new Set<() => void>();
  #over = false;

  get over(): boolean {
    return this.#over;
  }

  assertOpen(): void {
    if (this.#over) throw new HoldfastError("client_closed", "This client is closed. Call connect() again.");
  }

  /** Calls the function at the end, or at once if it has ended; the returned function cancels that. */
  watch(onEnd: () => void): () => void {
    if (this.#over) onEnd();
    else this.#watchers.add(onEnd);
    return () => this.#watchers.delete(onEnd);
  }

  /** Settles as the promise does, unless the end comes first. */
  during<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.watch(() => reject(cutOff()));
      promise.then(resolve, reject).finally(forget);
    });
  }

  end(): void {
    this.#over = true;
    const watchers = [...this.#watchers];
    this.#watchers.clear();
    for (const onEnd of watchers) onEnd();
  }
}

/** The error for a call that was waiting when the client was closed. */
export function cutOff(): HoldfastError {
  return new HoldfastError(
    "client_closed",
    "The client was closed while this call was waiting for an answer: it may or may not have taken effect. A start or a signal with an explicit id can be repeated safely.",
  );
}
