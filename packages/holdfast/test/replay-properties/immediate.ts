/** The one real macrotask that turns need: between two of these, only microtasks run (turn loop T1). */
export const immediate = (callback: () => void): void => {
  // tidy-allow: a turn closes in the macrotask after the one that opened it; nothing waits for time here
  setImmediate(callback);
};
