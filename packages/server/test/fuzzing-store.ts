/** Malformed requests of StoreService, which Holdfast's own clients and workers speak. */
import { create, type DescMethod, toBinary } from "@bufbuild/protobuf";
import { StoreService } from "@holdfast/protocol";
import {
  CallRequestSchema,
  PollRequestSchema,
  packBody,
  SessionRequestSchema,
  STORE_CALL_TABLE,
} from "@holdfast/protocol/store";
import type { Random } from "holdfast/adapter";

const METHODS = [...STORE_CALL_TABLE.keys(), "", "transact", "runs.__proto__", "constructor", "*"];
const VERSIONS = ["0.1.0", "0.1.0", "0.1.0", "0.2.0-next", "9.9.9", "", "\u0000"];
const FIELDS = [
  "namespace",
  "runs",
  "run",
  "starts",
  "commits",
  "workerId",
  "messages",
  "limit",
  "tasks",
  "puts",
  "id",
];

/** `value`: anything. */
export function storeRequest(method: DescMethod, random: Random, value: () => unknown): Uint8Array {
  const hello = { version: pick(VERSIONS, random), needs: random.next() < 0.1 ? [`${value()}`] : [] };
  const call = { method: pick(METHODS, random), body: body(random, value), deadlineMs: pick([0, 1, 200, 4e9], random) };
  if (method === StoreService.method.call) return toBinary(CallRequestSchema, create(CallRequestSchema, call));
  if (method === StoreService.method.poll) {
    const interest = random.next() < 0.5 ? { interest: { runs: [`${value()}`], namespaces: ["*"] } } : {};
    return toBinary(PollRequestSchema, create(PollRequestSchema, { hello: { ...hello, ...interest } }));
  }
  const dice = random.next();
  const request = { ...call, call: pick([0, 1, 1, 2, 4e9], random), more: random.next() < 0.2 };
  if (dice < 0.5) return toBinary(SessionRequestSchema, create(SessionRequestSchema, request));
  const control =
    dice < 0.8 ? { case: "hello" as const, value: hello } : { case: "ping" as const, value: pick([0, 7, 4e9], random) };
  return toBinary(SessionRequestSchema, create(SessionRequestSchema, { ...request, control }));
}

function body(random: Random, value: () => unknown): Uint8Array {
  if (random.next() < 0.3) return random.bytes(Math.floor(random.next() * 100));
  const fields = FIELDS.filter(() => random.next() < 0.4);
  const own = (field: string): unknown => {
    if (field === "namespace") return random.next() < 0.7 ? "default" : value();
    return random.next() < 0.5 ? [{ namespace: "default", runId: value() }] : value();
  };
  return packBody(Object.fromEntries(fields.map((field) => [field, own(field)])));
}

function pick<T>(list: readonly T[], random: Random): T {
  return list[Math.floor(random.next() * list.length)] as T;
}
