import { hash } from "node:crypto";

/** Time-ordered UUID (version 7) from a time and sixteen random bytes; pure, so that the simulator can replay it. */
export function uuidV7(nowMs: number, random: Uint8Array): string {
  printV7(nowMs, random);
  return printed();
}

/** Sixteen bytes as a UUID, with version and variant stamped in. */
export function formatUuid(bytes: Uint8Array, version: number): string {
  for (let i = 0; i < 6; i++) print(i, bytes[i] ?? 0);
  printRest(bytes, version);
  return printed();
}

/**
 * The id of a new run: a UUID of version 7 whose last three hexadecimal digits are the bucket of the run. If the user gives
 * no id they are random: the run id is then the id, and contains its own bucket.
 */
export function newRunId(namespace: string, id: string | undefined, nowMs: number, random: Uint8Array): string {
  printV7(nowMs, random);
  if (id !== undefined) printBucket(bucketOf(namespace, id));
  return printed();
}

/**
 * The run id of a child: always the same one for this op of this run, whatever becomes of the worker that starts it. A child that
 * replaces an earlier one has the next generation. The time is that of the parent's own run id. `id`: the user's own, if any.
 */
export function childRunId(
  parentRunId: string,
  op: string,
  generation: number,
  namespace: string,
  id: string | undefined,
): string {
  const digits = hash("sha256", `${parentRunId}\n${op}\n${generation}`).slice(0, 32);
  return newRunId(namespace, id, timeOfUuidV7(parentRunId), Buffer.from(digits, "hex"));
}

/** When a UUID of version 7 was made, by the clock of whoever has made it. */
export function timeOfUuidV7(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

export const BUCKETS = 4_096;

/**
 * The bucket of all runs of an id, by which a store may divide its data: the last three digits if the id is a UUID,
 * otherwise a hash. It is part of stored run ids, so it never changes. FNV-1a of the UTF-8 bytes of namespace, line feed and
 * id, 32 bits folded to 12.
 */
export function bucketOf(namespace: string, id: string): number {
  if (isUuid(id)) return Number.parseInt(id.slice(-3), 16);
  const hash = fnv1a(fnv1a(FNV_OFFSET, `${namespace}\n`), id);
  return ((hash >>> 12) ^ hash) & (BUCKETS - 1);
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

function fnv1a(start: number, text: string): number {
  let hash = start;
  const mix = (byte: number): void => {
    hash = Math.imul(hash ^ byte, FNV_PRIME);
  };
  for (let i = 0; i < text.length; i++) {
    const code = text.codePointAt(i) as number;
    if (code < 0x80) {
      mix(code);
      continue;
    }
    if (code >= 0x10000) {
      mix(0xf0 | (code >> 18));
      mix(0x80 | ((code >> 12) & 0x3f));
      i += 1;
    } else if (code >= 0x800) mix(0xe0 | (code >> 12));
    mix(code < 0x800 ? 0xc0 | (code >> 6) : 0x80 | ((code >> 6) & 0x3f));
    mix(0x80 | (code & 0x3f));
  }
  return hash;
}

// The characters of the UUID that is being printed. Concatenated strings would leave five times its size in garbage.
const DIGITS = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const characters = Array.from("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", (character) => character.charCodeAt(0));

function printV7(nowMs: number, random: Uint8Array): void {
  let time = Math.floor(nowMs);
  for (let i = 5; i >= 0; i--) {
    print(i, time % 256);
    time = Math.floor(time / 256);
  }
  printRest(random, 7);
}

function print(position: number, byte: number): void {
  const place = PLACES[position] as number;
  characters[place] = DIGITS[byte >> 4] as number;
  characters[place + 1] = DIGITS[byte & 0x0f] as number;
}

/** What follows the first six bytes. */
function printRest(bytes: Uint8Array, version: number): void {
  for (let i = 7; i < 16; i++) print(i, bytes[i] ?? 0);
  print(6, ((bytes[6] ?? 0) & 0x0f) | (version << 4));
  print(8, ((bytes[8] ?? 0) & 0x3f) | 0x80);
}

function printBucket(bucket: number): void {
  characters[33] = DIGITS[bucket >> 8] as number;
  print(15, bucket & 0xff);
}

function printed(): string {
  return String.fromCharCode(...characters);
}

/** The op of a receive is named after its signal, with this prefix. */
export const RECEIVE_PREFIX = "receive:";

/** The op id of a receive: the first one of that signal, the second… */
export function receiveId(signal: string, number = 1): string {
  return opId(RECEIVE_PREFIX + signal, number);
}

/** The op of a compensation is named after what it undoes, with this prefix. */
export const COMPENSATE_PREFIX = "compensate:";

/** The op of an update that was accepted is named after the update, with this prefix. */
export const UPDATE_PREFIX = "update:";

/** The op of `ctx.withLock` is named after the lock, with this prefix. */
/** Before the name of a queue, where a row names what its run waits for. */
export const QUEUE_PREFIX = "queue:";
export const LOCK_PREFIX = "lock:";

/** The op of `ctx.until`. */
export const UNTIL_PREFIX = "until:";

/** The op of `ctx.resultOf` is named after the run that it waits for, with this prefix. */
export const RESULT_PREFIX = "result:";

/** The op of an update that is sent to another run is named after the update, with this prefix. */
export const ASK_PREFIX = "ask:";

/** `charge`, `charge#2`, `charge#3`…: the name of an op plus its occurrence in the run. */
export function opId(name: string, occurrence: number): string {
  return occurrence === 1 ? name : `${name}#${occurrence}`;
}

/** What follows the prefix of an op id, without the occurrence. */
export function afterPrefix(op: string, prefix: string): string {
  return op.slice(prefix.length).replace(/#\d+$/, "");
}

/** The occurrence in an op id. */
export function opNumber(op: string): number {
  return Number(/#(\d+)$/.exec(op)?.[1] ?? 1);
}

/** A key that stays the same for every attempt of one op of one run, on any worker. */
export function idempotencyKey(runId: string, op: string): string {
  return `${runId}:${op}`;
}

/** The id of a transaction step's result message. No caller can make such an id: theirs have no tabs. */
export function outcomeMessageId(runId: string, op: string): string {
  return `${runId}\t${op}`;
}

/**
 * A signal with an id from the caller: the id is unique among the signals of that name. Neither contains tabs, and the
 * leading tab distinguishes this from the id of a result message.
 */
export function signalMessageId(name: string, id: string): string {
  return `\t${name}\t${id}`;
}

/**
 * An update's id is unique among all updates of a run and its continuations, whatever they are called. No signal has an empty
 * name, so this is never the id of a signal.
 */
export function updateMessageId(id: string): string {
  return `\t\t${id}`;
}

/** The id as the caller gave it, from an id in the inbox or in history. */
export function givenMessageId(messageId: string): string {
  return messageId.startsWith("\t") ? messageId.slice(messageId.lastIndexOf("\t") + 1) : messageId;
}

/**
 * The id of the message that a batch sends to a run. It names the run, because messages with the same id in one call are one. A
 * history shows the run id of the batch. No caller can make such an id.
 */
export function batchMessageId(batchRunId: string, runId: string): string {
  return `\tbatch\t${runId}\t${batchRunId}`;
}

/** The id of a message that an op of a run sends to another run. No caller can make such an id. */
export function sentMessageId(runId: string, op: string): string {
  return `${runId}\t${op}`;
}

/** The id of the message that tells the sender of an update what has become of it: by the run that had it, and the id of the update. */
export function replyMessageId(runId: string, messageId: string): string {
  return `\treply\t${runId}\t${messageId}`;
}

/** The id of the cancel that a run sends to a child that it does not want any more: one, however often and by whomever it is sent. */
export function closeMessageId(parentRunId: string, childRunId: string): string {
  return `${parentRunId}\t\t${childRunId}`;
}

/**
 * The id of the message with a task's result: which task it answers, in which attempt, and for a task that was finished with
 * its token, by which call.
 */
export function taskMessageId(seq: number, attempt: number, finishId = ""): string {
  return `\ttask\t${seq}\t${attempt}\t${finishId}`;
}

/** What such an id says. */
export function readTaskMessageId(messageId: string): { seq: number; attempt: number; finishId: string } {
  const [, , seq, attempt, finishId = ""] = messageId.split("\t");
  return { seq: Number(seq), attempt: Number(attempt), finishId };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isUuid(text: unknown): text is string {
  return typeof text === "string" && UUID.test(text);
}
