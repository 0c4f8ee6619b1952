/** The messages of a stream until a signal is aborted: whoever sends them need not close it for that. */
export async function* untilAborted<T>(messages: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const stream = messages[Symbol.asyncIterator]();
  let stop = (): void => {};
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
    signal.addEventListener("abort", stop);
  });
  if (signal.aborted) stop();
  try {
    for (;;) {
      const next = stream.next();
      // It may fail after nobody waits for it any longer.
      next.catch(() => {});
      const message = await Promise.race([next, aborted]);
      if (message === undefined || message.done) return;
      yield message.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
