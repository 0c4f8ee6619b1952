/** Malformed messages for every call: no answer may be a crash, and none may tell a secret. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import {
  AdminService,
  Health,
  NamespaceService,
  WorkerService,
  WorkflowScheduleService,
  WorkflowService,
} from "@holdfast/protocol";
import { SeededSource } from "holdfast/testing";

export const FUZZED: readonly DescMethod[] = [
  WorkflowService,
  WorkflowScheduleService,
  WorkerService,
  AdminService,
  NamespaceService,
  Health,
].flatMap((service: DescService) => service.methods.filter(({ methodKind }) => methodKind === "unary"));

const TEXTS = [
  "",
  "*",
  "\u0000",
  "../..",
  "a".repeat(500),
  "🦔".repeat(50),
  "{}",
  "null",
  "-1",
  "__proto__",
  "constructor",
  "01900000-0000-7000-8000-000000000000",
  "' or 1=1 --",
  "%00",
  "\ud800",
  "shop",
  "default",
];

export class Fuzzer {
  readonly #random: SeededSource;

  constructor(seed: number) {
    this.#random = new SeededSource(seed);
  }

  /** A request for the method: sometimes noise, sometimes its own fields with values that nobody expects. */
  request(method: DescMethod): { readonly type: string; readonly body: Uint8Array } {
    const dice = this.#random.next();
    if (dice < 0.2)
      return { type: "application/proto", body: this.#random.bytes(Math.floor(this.#random.next() * 200)) };
    if (dice < 0.3) return { type: "application/json", body: this.#random.bytes(Math.floor(this.#random.next() * 60)) };
    const fields = method.input.fields.filter(() => this.#random.next() < 0.7);
    const json = Object.fromEntries(fields.map((field) => [field.jsonName, this.#value(field.fieldKind, 0)]));
    return { type: "application/json", body: new TextEncoder().encode(JSON.stringify(json)) };
  }

  #value(kind: string, depth: number): unknown {
    const dice = this.#random.next();
    if (dice < 0.1) return null;
    if (dice < 0.2 && depth < 4) return { [this.#text()]: this.#value("scalar", depth + 1) };
    if (dice < 0.3 && depth < 4) return [this.#value("scalar", depth + 1), this.#value("message", depth + 1)];
    if (kind === "message")
      return dice < 0.6
        ? { data: "e30=", metadata: { encoding: this.#text() }, pageSize: 1e9 }
        : "1970-01-01T00:00:00Z";
    if (kind === "list") return [this.#text(), this.#text()];
    if (kind === "map") return { [this.#text()]: this.#text() };
    if (kind === "enum") return Math.floor(this.#random.next() * 40) - 5;
    if (dice < 0.4) return (this.#random.next() - 0.5) * 1e20;
    if (dice < 0.5) return dice < 0.45;
    return this.#text();
  }

  #text(): string {
    return TEXTS[Math.floor(this.#random.next() * TEXTS.length)] as string;
  }
}

/** Sends so many, a few at a time; returns how often each status was answered. */
export async function fuzz(
  url: string,
  token: string | undefined,
  count: number,
  seed: number,
  onAnswer: (method: DescMethod, status: number, text: string) => void,
): Promise<void> {
  const fuzzer = new Fuzzer(seed);
  let sent = 0;
  const lane = async (): Promise<void> => {
    while (sent < count) {
      const method = FUZZED[sent % FUZZED.length] as DescMethod;
      sent += 1;
      const { type, body } = fuzzer.request(method);
      const headers = {
        "content-type": type,
        "connect-timeout-ms": "200",
        ...(token ? { authorization: `Bearer ${token}` } : {}),
      };
      const response = await fetch(`${url}/${method.parent.typeName}/${method.name}`, {
        method: "POST",
        headers,
        body: body as unknown as ArrayBuffer,
      });
      onAnswer(method, response.status, await response.text());
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}
