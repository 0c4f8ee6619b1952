/** Time-ordered UUID (version 7) from a time and sixteen random bytes; pure, so that the simulator can replay it. */
export function uuidV7(nowMs: number, random: Uint8Array): string {
  let time = Math.floor(nowMs);
  for (let i = 5; i >= 0; i--) {
    print(i, time % 256);
    time = Math.floor(time / 256);
  }
  return printed(random, 7);
}

/** Sixteen bytes as a UUID, with version and variant stamped in. */
export function formatUuid(bytes: Uint8Array, version: number): string {
  for (let i = 0; i < 6; i++) print(i, bytes[i] ?? 0);
  return printed(bytes, version);
}

// The characters of the UUID that is being printed. Pieces of text put together would be five times its size in garbage.
const DIGITS = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const characters = Array.from("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", (character) => character.charCodeAt(0));

function print(position: number, byte: number): void {
  const place = PLACES[position] as number;
  characters[place] = DIGITS[byte >> 4] as number;
  characters[place + 1] = DIGITS[byte & 0x0f] as number;
}

/** Adds what comes behind the first six bytes. */
function printed(bytes: Uint8Array, version: number): string {
  for (let i = 7; i < 16; i++) print(i, bytes[i] ?? 0);
  print(6, ((bytes[6] ?? 0) & 0x0f) | (version << 4));
  print(8, ((bytes[8] ?? 0) & 0x3f) | 0x80);
  return String.fromCharCode(...characters);
}

/** The op of a receive is called by its signal, behind this. */
export const RECEIVE_PREFIX = "receive:";

/** That of a compensation, by what it undoes. */
export const COMPENSATE_PREFIX = "compensate:";

/** `charge`, `charge#2`, `charge#3`…: the name of an op plus its occurrence in the run. */
export function opId(name: string, occurrence: number): string {
  return occurrence === 1 ? name : `${name}#${occurrence}`;
}

/** A key that stays the same for every attempt of one op of one run, on whichever worker. */
export function idempotencyKey(runId: string, op: string): string {
  return `${runId}:${op}`;
}

/** The message that carries the outcome of a transaction step. No caller can make such an id: theirs have no tabs. */
export function outcomeMessageId(runId: string, op: string): string {
  return `${runId}\t${op}`;
}

/**
 * A signal that the caller has given an id: the id counts among the signals of that name. Neither has tabs, and with one at its
 * front this is no id of an outcome.
 */
export function signalMessageId(name: string, id: string): string {
  return `\t${name}\t${id}`;
}

/** The id as the caller has given it, of whatever stands in the inbox or in history. */
export function givenMessageId(messageId: string): string {
  return messageId.startsWith("\t") ? messageId.slice(messageId.lastIndexOf("\t") + 1) : messageId;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isUuid(text: unknown): text is string {
  return typeof text === "string" && UUID.test(text);
}
