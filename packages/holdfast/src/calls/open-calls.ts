/** Calls in progress, and when there are none. */
export class OpenCalls {
  #open = 0;
  #waiters: (() => void)[] = [];

  async during<T>(call: Promise<T>): Promise<T> {
    this.#open += 1;
    try {
      return await call;
    } finally {
      this.#open -= 1;
      if (this.#open === 0) for (const resolve of this.#waiters.splice(0)) resolve();
    }
  }

  untilNone(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }
}
