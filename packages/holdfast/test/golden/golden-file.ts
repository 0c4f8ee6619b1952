/**
 * Files of golden histories: one line of JSON for each row, event and message, a row before its own events and messages. Payloads
 * are shown as the JSON text that they are.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { HistoryEvent, Message, Run } from "holdfast/adapter";

export interface GoldenRun {
  readonly row: Run;
  readonly events: HistoryEvent[];
  readonly inbox: Message[];
}

type Line = { readonly row: Run } | { readonly event: HistoryEvent } | { readonly message: Message };

const PAYLOADS = ["input", "output", "payload"];

export function readGolden(name: string): GoldenRun[] {
  const runs: GoldenRun[] = [];
  for (const text of readFileSync(fileOf(name), "utf8").trimEnd().split("\n")) {
    const line = JSON.parse(text, fromText) as Line;
    if ("row" in line) runs.push({ row: line.row, events: [], inbox: [] });
    else if ("event" in line) runs.at(-1)?.events.push(line.event);
    else runs.at(-1)?.inbox.push(line.message);
  }
  return runs;
}

export function writeGolden(name: string, runs: readonly GoldenRun[]): void {
  const lines = runs.flatMap(({ row, events, inbox }): Line[] => [
    { row },
    ...events.map((event) => ({ event })),
    ...inbox.map((message) => ({ message })),
  ]);
  writeFileSync(fileOf(name), lines.map((line) => `${JSON.stringify(line, toText)}\n`).join(""));
}

function fileOf(name: string): string {
  return fileURLToPath(new URL(`histories/${name}.jsonl`, import.meta.url));
}

function toText(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? new TextDecoder("utf-8", { fatal: true }).decode(value) : value;
}

function fromText(key: string, value: unknown): unknown {
  return PAYLOADS.includes(key) && typeof value === "string" ? new TextEncoder().encode(value) : value;
}
