/** Malformed messages for every call: no answer may be a crash, and none may tell a secret. */
import http2 from "node:http2";
import type { DescMethod } from "@bufbuild/protobuf";
import { StoreService } from "@holdfast/protocol";
import { SeededSource } from "holdfast/testing";
import { storeRequest } from "./fuzzing-store.ts";
import { SERVICES } from "./server-under-test.ts";

export const FUZZED: readonly DescMethod[] = [...SERVICES, StoreService].flatMap(({ methods }) => methods);

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
    // What Holdfast's own clients say: never JSON, and what a call takes is packed once more.
    if (method.parent === StoreService && dice >= 0.1)
      return { type: "application/proto", body: storeRequest(method, this.#random, () => this.#value("scalar", 0)) };
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

/** Streams and polls wait until their time is up: with so many at once, that is not what a long run spends its time on. */
export const LANES = 48;

/** Sends so many, each method in its turn. A stream is sent up to three messages, and then nothing more. */
export async function fuzz(
  url: string,
  token: string | undefined,
  count: number,
  seed: number,
  onAnswer: (method: DescMethod, status: number, text: string) => void,
): Promise<void> {
  const fuzzer = new Fuzzer(seed);
  const session = http2.connect(url);
  const timed = { "connect-timeout-ms": "200", ...(token ? { authorization: `Bearer ${token}` } : {}) };
  let sent = 0;
  const lane = async (): Promise<void> => {
    while (sent < count) {
      const method = FUZZED[sent % FUZZED.length] as DescMethod;
      sent += 1;
      const path = `/${method.parent.typeName}/${method.name}`;
      if (method.methodKind === "unary") {
        const { type, body } = fuzzer.request(method);
        const headers = { "content-type": type, ...timed };
        const response = await fetch(url + path, { method: "POST", headers, body: body as unknown as ArrayBuffer });
        onAnswer(method, response.status, await response.text());
        continue;
      }
      const requests = [fuzzer.request(method), fuzzer.request(method), fuzzer.request(method)];
      const { type } = requests[0] as { type: string };
      const frames = requests.filter((one) => one.type === type).map(({ body }) => enveloped(body));
      const named = method.parent === StoreService ? "application/grpc+proto" : type.replace("/", "/connect+");
      const headers = { ":method": "POST", ":path": path, "content-type": named, ...timed };
      const { status, text } = await streamed(session, headers, Buffer.concat(frames));
      onAnswer(method, status, text);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  session.close();
}

function enveloped(body: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** The answer of a stream, whole; a stream that the server resets has the status 0. */
function streamed(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body: Buffer,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve) => {
    const stream = session.request(headers);
    const parts: Buffer[] = [];
    let status = 0;
    stream.on("response", (answer) => {
      status = Number(answer[":status"]);
    });
    stream.on("data", (part: Buffer) => void parts.push(part));
    stream.on("error", () => {});
    stream.on("close", () => resolve({ status, text: Buffer.concat(parts).toString() }));
    stream.end(body);
  });
}
