/** What a guest shows with every call: which run, under which claim, and a secret that only whoever got the run knows. */

/** Tokens of tasks do not begin like this. */
const PREFIX = "hfg_";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const EPOCH = /^[1-9]\d{0,9}$/;
const SECRET = /^[0-9a-f]{32}$/;

export interface GuestToken {
  readonly runId: string;
  readonly epoch: number;
  readonly secret: string;
}

export function writeGuestToken({ runId, epoch, secret }: GuestToken): string {
  return `${PREFIX}${runId}_${epoch}_${secret}`;
}

export function isGuestToken(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** Undefined if it is none. */
export function readGuestToken(text: string): GuestToken | undefined {
  const [runId = "", epoch = "", secret = "", ...rest] = isGuestToken(text) ? text.slice(PREFIX.length).split("_") : [];
  if (rest.length > 0 || !UUID.test(runId) || !EPOCH.test(epoch) || !SECRET.test(secret)) return undefined;
  return { runId, epoch: Number(epoch), secret };
}
