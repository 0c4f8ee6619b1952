/**
 * What a call of a session needs besides the role: that its namespace is enabled, that it is not one too many, and that its values are
 * encrypted if the namespace requires that. Heartbeats, commits and results have no limit: a refused heartbeat would cost a lease, and what
 * a worker has done would be lost.
 */
import { STORE_CALL_TABLE } from "@holdfast/protocol/store";
import {
  HoldfastError,
  type NewRun,
  type Payload,
  type StoreCalls,
  type StoreMethod,
  VALUE_EVENTS,
} from "holdfast/adapter";
import { type NamespaceRules, requireNamespaceName } from "../access/namespace-rules.ts";
import { ANYONE, type Principal } from "../access/principal.ts";
import type { Limited, RateLimits } from "../access/rate-limits.ts";
import { type AdmittedCall, ownerOf } from "./caller.ts";

interface Rule<M extends StoreMethod = never> {
  /** None: it never counts. */
  readonly limit?: Limited;
  /** How many it counts as. */
  readonly amount?: (params: Parameters<StoreCalls[M]>[0]) => number;
  /** The namespaces that must be enabled. */
  readonly enabled?: (params: Parameters<StoreCalls[M]>[0]) => readonly string[];
  /** It may be the first to name them. */
  readonly names?: true;
  /** The values that it brings, for namespaces that require encryption. */
  readonly values?: (params: Parameters<StoreCalls[M]>[0]) => readonly Brought[];
  /** The engine parks the run of a call that the store refuses, and knows no other way to be rid of it. */
  readonly refusedAs?: "store_refused";
}

interface Brought {
  readonly namespace: string;
  readonly payload: Payload | null | undefined;
}

/** The first byte of an encrypted payload. */
const ENCRYPTED = 3;
const inputOf = ({ run }: { readonly run: Pick<NewRun, "namespace" | "input"> }): Brought => ({
  namespace: run.namespace,
  payload: run.input,
});

const own = ({ namespace }: { readonly namespace: string }): readonly string[] => [namespace];
const READ = { limit: "reads" } as const;

/** What `ctx.resultOf` was told may be a value of another namespace, which requires nothing. */
const CHECKED_EVENTS: ReadonlySet<string> = new Set(VALUE_EVENTS.filter((type) => type !== "message_sent"));

/** Of each namespace the first value that is not encrypted: hundreds of commits are mostly of one. */
function committedValues({ commits }: Parameters<StoreCalls["runs.commit"]>[0]): Brought[] {
  const brought: Brought[] = [];
  let last: string | undefined;
  const bring = (namespace: string, payload: Payload | null | undefined): void => {
    if (namespace === last || !isPlain(payload)) return;
    brought.push({ namespace, payload });
    last = namespace;
  };
  for (const { namespace, events, transition } of commits) {
    for (const { type, payload } of events) if (CHECKED_EVENTS.has(type)) bring(namespace, payload);
    if (transition.type === "end") bring(namespace, transition.output);
    if (transition.type === "continue") bring(transition.next.namespace, transition.next.input);
  }
  return brought;
}

function isPlain(payload: Payload | null | undefined): boolean {
  return payload ? payload.length > 0 && payload[0] !== ENCRYPTED : false;
}

function forkedValues({ run, ...rest }: Parameters<StoreCalls["runs.fork"]>[0]): Brought[] {
  const { namespace } = run;
  return [inputOf({ run }), ...bytesIn(rest).map((payload) => ({ namespace, payload }))];
}

/** The results that whoever forks gives to ops. */
function bytesIn(value: unknown): Payload[] {
  if (value instanceof Uint8Array) return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(bytesIn) : [];
}

const RULES: { readonly [M in StoreMethod]?: Rule<M> } = {
  "runs.start": {
    limit: "starts",
    amount: ({ starts }) => starts.length,
    // What runs that are under way start is theirs to finish.
    enabled: ({ starts }) => starts.flatMap(({ run, parent }) => (parent ? [] : [run.namespace])),
    names: true,
    values: ({ starts }) => starts.map(inputOf),
  },
  "runs.debounce": {
    limit: "starts",
    enabled: ({ start }) => own(start.run),
    names: true,
    values: ({ start }) => [inputOf(start)],
  },
  "runs.fork": { limit: "starts", enabled: ({ run }) => own(run), names: true, values: forkedValues },
  "runs.commit": { values: committedValues, refusedAs: "store_refused" },
  "tasks.finish": {
    values: ({ finishes }) =>
      finishes.map(({ namespace, result }) => ({
        namespace,
        payload: result.type === "completed" ? result.payload : null,
      })),
    refusedAs: "store_refused",
  },
  "tasks.beat": { values: ({ beats }) => beats.map(({ namespace, details: payload }) => ({ namespace, payload })) },
  "schedules.putIfRevision": {
    // Times of schedules fire by themselves: what comes from a session is a new schedule, or somebody's start.
    enabled: ({ puts }) =>
      puts.flatMap(({ namespace, revision, starts }) => [
        ...(revision === null ? [namespace] : []),
        ...starts.map(({ run }) => run.namespace),
      ]),
    names: true,
    values: ({ puts }) =>
      puts.flatMap(({ namespace, input: payload, starts }) => [{ namespace, payload }, ...starts.map(inputOf)]),
  },
  "asks.ask": { values: ({ asks }) => asks },
  "asks.answer": {
    values: ({ answers }) =>
      answers.map(({ namespace, answer }) => ({
        namespace,
        payload: answer.type === "answered" ? answer.payload : null,
      })),
  },
  "payloads.replaceIfUnchanged": {
    values: ({ payloads }) => payloads.map(({ namespace, to: payload }) => ({ namespace, payload })),
  },
  "transfers.arrive": {
    values: ({ image: { run } }) => [inputOf({ run }), { namespace: run.namespace, payload: run.output }],
  },
  "inbox.deliver": {
    limit: "starts",
    amount: ({ messages }) => messages.length,
    values: ({ messages }) =>
      messages
        .filter(({ kind }) => kind === "signal" || kind === "update")
        .map(({ to, payload }) => ({ namespace: to.namespace, payload })),
  },
  "runs.claim": { limit: "claims", enabled: own },
  "runs.holdIfParkedByOtherCode": { limit: "claims", enabled: own },
  "tasks.claim": { limit: "claims", enabled: own },
  "runs.list": READ,
  "runs.count": READ,
  "tasks.list": READ,
  "tasks.position": READ,
  "versions.list": READ,
  "workers.list": READ,
  "workers.readLog": READ,
  "workers.readRates": READ,
  "locks.list": READ,
  "queues.list": READ,
  "queues.backlog": READ,
  "schedules.list": READ,
  "schedules.decisions": READ,
};

export function isAdmitted(method: StoreMethod): boolean {
  return RULES[method] !== undefined;
}

/** Whether there may be too many of it. */
export function isLimited(method: StoreMethod): boolean {
  return RULES[method]?.limit !== undefined;
}

export class Admission {
  readonly #limits: RateLimits;
  readonly #namespaces: NamespaceRules;

  constructor(limits: RateLimits, namespaces: NamespaceRules) {
    this.#limits = limits;
    this.#namespaces = namespaces;
  }

  /** Throws `rate_limited`, `namespace_disabled` or `invalid_name`; then nothing has happened. */
  async admit(principal: Principal, { method, params, bytes }: AdmittedCall): Promise<void> {
    const rule = RULES[method] as Rule | undefined;
    if (!rule) return;
    const { limit, amount, enabled, names, values, refusedAs } = rule;
    const given = params as never;
    const owners = new Set(enabled?.(given).map(ownerOf));
    if (names) for (const namespace of owners) requireNamespaceName(namespace);
    // Without authentication there is nobody to tell apart.
    if (limit && principal !== ANYONE) {
      const about = new Set(STORE_CALL_TABLE.get(method)?.namespaces(given).map(ownerOf));
      const buckets = [`key "${principal.id}"`, ...[...about].map((namespace) => `namespace "${namespace}"`)];
      this.#limits.take(limit, buckets, amount?.(given) ?? 1);
      this.#limits.take("bytes", buckets, bytes);
    }
    for (const namespace of owners) await this.#namespaces.requireEnabled(namespace);
    if (values) await this.#requireEncrypted(values(given), refusedAs);
  }

  /** Only their first bytes are looked at. */
  async #requireEncrypted(
    brought: readonly Brought[],
    refusedAs: "invalid_argument" | "store_refused" = "invalid_argument",
  ): Promise<void> {
    const plain = brought.filter(({ payload }) => isPlain(payload));
    for (const namespace of new Set(plain.map((one) => one.namespace))) {
      if (!(await this.#namespaces.read(namespace))?.settings.requiresEncryption) continue;
      const message = `A value is not encrypted, as namespace "${namespace}" requires. Give the client the codec encrypted(keys).`;
      throw new HoldfastError(refusedAs, message, { data: { namespace } });
    }
  }
}
