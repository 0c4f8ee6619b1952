/**
 * What a call of a session needs besides the role: that its namespace is enabled, and that it is not one too many. Heartbeats, commits
 * and results are not in the table: a refused heartbeat would cost a lease, and what a worker has done would be lost.
 */
import { STORE_CALL_TABLE } from "@holdfast/protocol/store";
import { HoldfastError, type NewRun, type Payload, type StoreCalls, type StoreMethod } from "holdfast/adapter";
import { type NamespaceRules, requireNamespaceName } from "../access/namespace-rules.ts";
import { ANYONE, type Principal } from "../access/principal.ts";
import type { Limited, RateLimits } from "../access/rate-limits.ts";
import { type AdmittedCall, ownerOf } from "./caller.ts";

interface Rule<M extends StoreMethod = never> {
  readonly limit: Limited;
  /** How many it counts as. */
  readonly amount?: (params: Parameters<StoreCalls[M]>[0]) => number;
  /** The namespaces that must be enabled. */
  readonly enabled?: (params: Parameters<StoreCalls[M]>[0]) => readonly string[];
  /** It may be the first to name them. */
  readonly names?: true;
  /** The values that it brings, for namespaces that require encryption. */
  readonly values?: (params: Parameters<StoreCalls[M]>[0]) => readonly Brought[];
}

interface Brought {
  readonly namespace: string;
  readonly payload: Payload;
}

/** The first byte of an encrypted payload. */
const ENCRYPTED = 3;
const inputOf = ({ run }: { readonly run: NewRun }): Brought => ({ namespace: run.namespace, payload: run.input });

const own = ({ namespace }: { readonly namespace: string }): readonly string[] => [namespace];
const READ = { limit: "reads" } as const;

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
  "runs.fork": { limit: "starts", enabled: ({ run }) => own(run), names: true },
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
    const { limit, amount, enabled, names, values } = rule;
    const given = params as never;
    const owners = new Set(enabled?.(given).map(ownerOf));
    if (names) for (const namespace of owners) requireNamespaceName(namespace);
    // Without authentication there is nobody to tell apart.
    if (principal !== ANYONE) {
      const about = new Set(STORE_CALL_TABLE.get(method)?.namespaces(given).map(ownerOf));
      const buckets = [`key "${principal.id}"`, ...[...about].map((namespace) => `namespace "${namespace}"`)];
      this.#limits.take(limit, buckets, amount?.(given) ?? 1);
      this.#limits.take("bytes", buckets, bytes);
    }
    for (const namespace of owners) await this.#namespaces.requireEnabled(namespace);
    if (values) await this.#requireEncrypted(values(given));
  }

  /** Only their first bytes are looked at. */
  async #requireEncrypted(brought: readonly Brought[]): Promise<void> {
    const plain = brought.filter(({ payload }) => payload.length > 0 && payload[0] !== ENCRYPTED);
    for (const namespace of new Set(plain.map((one) => one.namespace))) {
      if (!(await this.#namespaces.read(namespace))?.settings.requiresEncryption) continue;
      const message = `A value is not encrypted, as namespace "${namespace}" requires. Give the client the codec encrypted(keys).`;
      throw new HoldfastError("invalid_argument", message, { data: { namespace } });
    }
  }
}
