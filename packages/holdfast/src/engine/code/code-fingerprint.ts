/**
 * The parts of a workflow function that tell whether its code has changed: the ops it asks for, by name, and its string
 * literals. Everything else (white space, comments, quotes, variable names, the shape of expressions, how imports are
 * called) depends on the tool that compiled it and must not raise an alarm.
 */
import { createHash } from "node:crypto";
import { type CodeLiterals, literalsOf } from "./code-literals.ts";

const FORMAT = "f1";
const TEXTS_MAX = 1_000;

/** One word for the ops, and one for each literal. */
export function fingerprintOf(fn: unknown): string {
  const { ops, texts }: CodeLiterals = literalsOf(String(fn));
  // Sorted: a minifier inverts an "if not" and merges what two branches have in common.
  const words = [...new Set(texts.map((text) => digest(text, 8)))].sort().slice(0, TEXTS_MAX);
  return [FORMAT, digest([...ops].sort().join("\n"), 16), ...words].join(" ");
}

/**
 * True if ops were added or removed, or if one literal was replaced by another. Literals that were only added or only
 * removed say nothing: some tools inline the value of a constant or an enum, and others do not.
 */
export function hasChanged(before: string, now: string): boolean {
  const [format, ops, ...texts] = before.split(" ");
  const [newFormat, newOps, ...newTexts] = now.split(" ");
  if (format !== FORMAT || newFormat !== FORMAT) return false;
  if (ops !== newOps) return true;
  const [old, fresh] = [new Set(texts), new Set(newTexts)];
  return texts.some((text) => !fresh.has(text)) && newTexts.some((text) => !old.has(text));
}

function digest(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}
