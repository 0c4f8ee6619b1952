/**
 * npm run bench -- codecs: how many bytes each codec makes of a value, and how long it takes. No store is involved. The codecs
 * take turns, and processor time is what counts, of the best of many rounds: other processes only ever make one slower.
 */
import process from "node:process";
import type { Codec } from "holdfast";
import { compressed, encrypted, json, messagePack } from "holdfast/codecs";

const ROUNDS = 30;
const ROUND_US = 10_000;

const keys = { k1: new Uint8Array(32).fill(1) };

const CODECS: readonly (readonly [name: string, codec: Codec])[] = [
  ["json()", json()],
  ["messagePack()", messagePack()],
  ["compressed()", compressed()],
  ["encrypted()", encrypted({ current: "k1", keys })],
];

const orderOf = (i: number) => ({
  id: `order-${(i * 7_919) % 100_003}`,
  at: "2026-01-01T12:00:00.000Z",
  customer: { name: "Ada Lovelace", email: "ada@example.com", vip: i % 3 === 0, score: ((i * 37) % 1_000) / 7 },
  lines: Array.from({ length: 6 }, (_, n) => ({ sku: `SKU-${(i * 31 + n) % 977}`, quantity: n + 1, cents: 1_999 + n })),
});

const VALUES: readonly (readonly [name: string, value: unknown])[] = [
  ["an id", "order-4711"],
  ["an order", orderOf(1)],
  ["1,000 orders", Array.from({ length: 1_000 }, (_, i) => orderOf(i))],
  ["an order with a Date and a Map", { ...orderOf(1), at: new Date(0), stock: new Map([["SKU-1", 4]]) }],
  ["64 KiB of bytes", Uint8Array.from({ length: 65_536 }, (_, i) => (i * 7_919) % 251)],
];

interface Figures {
  bytes: number;
  encodeUs: number;
  decodeUs: number;
}

export function codecTable(rounds = ROUNDS): string {
  const lines = ["| value | codec | bytes | encode, µs | decode, µs |", "|---|---|--:|--:|--:|"];
  for (const [name, value] of VALUES) {
    for (const [codec, { bytes, encodeUs, decodeUs }] of measure(value, rounds))
      lines.push(
        `| ${name} | \`${codec}\` | ${bytes.toLocaleString("en")} | ${shown(encodeUs)} | ${shown(decodeUs)} |`,
      );
  }
  return lines.join("\n");
}

function measure(value: unknown, rounds: number): readonly (readonly [codec: string, figures: Figures])[] {
  const measured = CODECS.map(([name, codec]) => {
    const payload = codec.encode(value, "value");
    const figures = { bytes: payload.length, encodeUs: Number.POSITIVE_INFINITY, decodeUs: Number.POSITIVE_INFINITY };
    return { name, figures, encode: () => codec.encode(value, "value"), decode: () => codec.decode(payload) };
  });
  for (let round = 0; round < rounds; round++) {
    for (const { figures, encode, decode } of measured) {
      figures.encodeUs = Math.min(figures.encodeUs, microsecondsOf(encode));
      figures.decodeUs = Math.min(figures.decodeUs, microsecondsOf(decode));
    }
  }
  return measured.map(({ name, figures }) => [name, figures]);
}

function microsecondsOf(call: () => unknown): number {
  const began = process.cpuUsage();
  let calls = 0;
  for (let batch = 1; ; batch = Math.min(64, batch * 2)) {
    // Several calls per look at the clock, which would otherwise be what is measured.
    for (let i = 0; i < batch; i++) call();
    calls += batch;
    const { user, system } = process.cpuUsage(began);
    if (user + system >= ROUND_US) return (user + system) / calls;
  }
}

function shown(microseconds: number): string {
  return microseconds.toLocaleString("en", { maximumSignificantDigits: 2 });
}
