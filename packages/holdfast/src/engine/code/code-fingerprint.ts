/**
 * What is compared of a workflow function to tell whether its code has changed: which ops it asks for by which names, and the
 * texts in it. Everything else (white space, comments, quotes, names of variables, the shape of expressions, how imports are
 * called) is a matter of the tool that compiled it, and must not raise an alarm.
 */
import { createHash } from "node:crypto";
import { type CodeLiterals, literalsOf } from "./code-literals.ts";

const FORMAT = "f1";
const TEXTS_MAX = 1_000;

/** One word for the ops, and one for each text. */
export function fingerprintOf(fn: unknown): string {
  const { ops, texts }: CodeLiterals = literalsOf(String(fn));
  // Sorted: a minifier turns an "if not" around, and puts what is the same in two branches into one.
  const words = [...new Set(texts.map((text) => digest(text, 8)))].sort().slice(0, TEXTS_MAX);
  return [FORMAT, digest([...ops].sort().join("\n"), 16), ...words].join(" ");
}

/**
 * Ops have come or gone, or one text was replaced by another. Texts that are only more or only fewer say nothing: some tools
 * put the value of a constant or an enum in its place, and others do not.
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
