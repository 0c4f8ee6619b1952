import { START_MS } from "../sample-data.ts";
import type { Call } from "./call.ts";

const SIZE_MAX = 2_000;

/** Prints calls so that people can follow them: short names for ids, times from the beginning, bytes as text. */
export class Transcript {
  readonly #names: ReadonlyMap<string, string>;

  constructor(names: ReadonlyMap<string, string>) {
    this.#names = names;
  }

  call(call: Call, at: number): string {
    return `t+${at - START_MS} ${call.method}(${this.value(call.params)})`;
  }

  value(value: unknown): string {
    const text = this.#print(value);
    return text.length > SIZE_MAX ? `${text.slice(0, SIZE_MAX)}…` : text;
  }

  /** A text that may contain ids. */
  text(text: string): string {
    let result = text;
    for (const [id, name] of this.#names) result = result.replaceAll(id, name);
    return result;
  }

  #print(value: unknown): string {
    if (value === undefined) return "nothing";
    if (value instanceof Uint8Array) return `bytes"${new TextDecoder().decode(value)}"`;
    if (typeof value === "string") return this.#names.get(value) ?? JSON.stringify(value);
    if (typeof value === "number" && Math.abs(value - START_MS) < 1e9) return `t+${value - START_MS}`;
    if (Array.isArray(value)) return `[${value.map((item) => this.#print(item)).join(", ")}]`;
    if (typeof value !== "object" || value === null) return String(value);
    if ("kind" in value && "message" in value) return `error"${value.message}"`;
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{ ${fields.map(([key, field]) => `${this.#names.get(key) ?? key}: ${this.#print(field)}`).join(", ")} }`;
  }
}
