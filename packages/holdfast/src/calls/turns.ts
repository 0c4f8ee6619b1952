/**
 * Calls that would only get in each other's way take turns, one line for each key. This saves work and nothing depends on it:
 * whoever else wants the same is in another process, and is kept out by the store.
 */
export class Turns {
  readonly #lines = new Map<string, (() => void)[]>();

  /** `endsLine` tells whether an error would meet everybody behind, too: then they no longer wait for each other. */
  async take<T>(key: string, work: () => Promise<T>, endsLine: (error: unknown) => boolean): Promise<T> {
    const line = this.#lines.get(key) ?? [];
    if (this.#lines.has(key)) await new Promise<void>((resolve) => void line.push(resolve));
    else this.#lines.set(key, line);
    let released = 1;
    try {
      return await work();
    } catch (error) {
      if (endsLine(error)) released = line.length;
      throw error;
    } finally {
      const next = line.splice(0, released);
      if (next.length !== 1 && this.#lines.get(key) === line) this.#lines.delete(key);
      for (const begin of next) begin();
    }
  }
}
