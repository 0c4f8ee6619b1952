// The server's clock as far as answers told it: a browser whose clock is wrong must not show wrong ages.
let offsetMs = 0;

/** Told by the API client with every answer that carries the server's time. */
export function setServerTime(serverMs: number): void {
  offsetMs = serverMs - Date.now();
}

export function serverNow(): number {
  return Date.now() + offsetMs;
}
