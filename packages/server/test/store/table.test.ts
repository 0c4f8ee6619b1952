import { STORE_CALL_TABLE, STORE_ROLES, type StoreRole } from "@holdfast/protocol/store";
import { type HoldfastError, STORE_METHODS, type StoreMethod } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { type Caller, checkCall } from "../../src/store-service/caller.ts";

const ref = (namespace: string): object => ({ namespace, runId: "r" });

/** One call of each kind about a run, a worker or anything else of that namespace. */
const ABOUT: { readonly [M in StoreMethod]: ((namespace: string) => readonly unknown[]) | "no namespace" } = {
  "runs.start": (ns) => [
    { starts: [{ run: ref(ns) }] },
    { starts: [{ run: ref("let in"), parent: { parent: ref(ns) } }] },
  ],
  "runs.debounce": (ns) => [{ start: { run: ref(ns) } }],
  "runs.claim": own,
  "runs.commit": (ns) => [
    { commits: [{ ...ref(ns), transition: { type: "hold" } }] },
    { commits: [{ ...ref("mine"), transition: { type: "continue", next: ref(ns) } }] },
  ],
  "runs.releaseIfHeld": own,
  "runs.restartIfHeld": own,
  "runs.holdIfParkedByOtherCode": own,
  "runs.pauseIfIdle": oneRun,
  "runs.resumeIfParked": oneRun,
  "runs.terminate": runs,
  "runs.reopenIfFailed": oneRun,
  "runs.fork": (ns) => [
    { origin: ref(ns), run: ref("mine") },
    { origin: ref("mine"), run: ref(ns) },
  ],
  "runs.watch": (ns) => [{ watches: [{ run: ref("let in"), by: ref(ns) }] }],
  "runs.read": runs,
  "runs.list": own,
  "runs.count": own,
  "runs.purge": own,
  "histories.read": runs,
  "segments.read": runs,
  "segments.addIfCurrent": own,
  "segments.drop": runs,
  "inbox.deliver": (ns) => [{ messages: [{ to: ref(ns) }] }, { messages: [{ to: ref("let in"), from: ns }] }],
  "inbox.read": runs,
  "inbox.replies": (ns) => [{ updates: [{ run: ref(ns) }] }],
  "tasks.claim": own,
  "tasks.finish": (ns) => [{ finishes: [ref(ns)] }],
  "tasks.beat": (ns) => [{ beats: [ref(ns)] }],
  "tasks.cancel": own,
  "tasks.expired": "no namespace",
  "tasks.read": own,
  "tasks.list": own,
  "tasks.position": own,
  "versions.register": own,
  "versions.updateIfKnown": own,
  "versions.list": own,
  "workers.register": own,
  "workers.heartbeat": own,
  "workers.readHeld": own,
  "workers.readHeldTasks": own,
  "workers.stop": own,
  "workers.sweep": "no namespace",
  "workers.list": own,
  "workers.askToDrain": own,
  "workers.readLog": own,
  "workers.addRates": own,
  "workers.readRates": own,
  "workers.forget": "no namespace",
  "workers.readLeader": "no namespace",
  "debts.read": runs,
  "debts.pay": (ns) => [{ debts: [ref(ns)] }],
  "locks.pass": (ns) => [
    { asks: [ref(ns)], givenBackBy: [] },
    { asks: [], givenBackBy: [ref(ns)] },
  ],
  "locks.list": own,
  "queues.setIfRevision": own,
  "queues.list": own,
  "queues.backlog": own,
  "namespaces.allow": own,
  "namespaces.disallow": own,
  "namespaces.read": own,
  "asks.ask": (ns) => [{ asks: [ref(ns)] }],
  "asks.take": own,
  "asks.answer": (ns) => [{ answers: [ref(ns)] }],
  "asks.read": (ns) => [{ asks: [ref(ns)] }],
  "asks.forget": (ns) => [{ asks: [ref(ns)] }],
  "payloads.read": runs,
  "payloads.replaceIfUnchanged": (ns) => [{ payloads: [ref(ns)] }],
  "schedules.putIfRevision": (ns) => [
    { puts: [{ ...ref(ns), starts: [] }] },
    { puts: [{ ...ref("mine"), starts: [{ run: ref(ns) }] }] },
  ],
  "schedules.due": "no namespace",
  "schedules.read": (ns) => [{ schedules: [ref(ns)] }],
  "schedules.decisions": own,
  "schedules.list": own,
  "schedules.remove": own,
  "retention.set": own,
  "retention.read": own,
  "retention.list": "no namespace",
  "transfers.identify": "no namespace",
  "transfers.read": runs,
  "transfers.departIfIdle": own,
  "transfers.departures": own,
  "transfers.arrive": (ns) => [{ image: { run: ref(ns) } }],
  "transfers.confirm": own,
  transact: "no namespace",
  readClock: "no namespace",
};

function own(namespace: string): readonly unknown[] {
  return [{ namespace }];
}

function runs(namespace: string): readonly unknown[] {
  return [{ runs: [ref(namespace)] }];
}

function oneRun(namespace: string): readonly unknown[] {
  return [{ run: ref(namespace) }];
}

/** Has a role in the namespace "mine", and none anywhere else. */
function tenant(role: StoreRole): Caller {
  const rank = STORE_ROLES.indexOf(role);
  return { allows: (needed, namespace) => namespace === "mine" && STORE_ROLES.indexOf(needed) <= rank };
}

function codeOf(caller: Caller, method: StoreMethod, params: unknown): string {
  try {
    checkCall(caller, method, params);
    return "allowed";
  } catch (error) {
    return (error as HoldfastError).code;
  }
}

const WITH_NAMESPACE = Object.entries(ABOUT).filter(([, about]) => typeof about === "function") as [
  StoreMethod,
  (namespace: string) => readonly unknown[],
][];

describe("the permission table", () => {
  test("has a row for every call of the port, and no other", () => {
    expect([...STORE_CALL_TABLE.keys()].sort()).toEqual([...STORE_METHODS].sort());
  });

  test.each(WITH_NAMESPACE)("%s is refused with the ids of another namespace, whatever the role", (method, about) => {
    for (const params of about("other")) {
      expect(codeOf(tenant("admin"), method, params)).toBe("permission_denied");
      expect(codeOf({ ...tenant("admin"), duties: true }, method, params)).toBe("permission_denied");
    }
  });

  test.each(WITH_NAMESPACE)("%s is allowed to its role, and refused to the one below", (method, about) => {
    const needed = STORE_CALL_TABLE.get(method)?.role as StoreRole;
    for (const params of about("mine")) {
      expect(codeOf(tenant(needed), method, params)).toBe("allowed");
      const below = STORE_ROLES[STORE_ROLES.indexOf(needed) - 1];
      if (below) expect(codeOf(tenant(below), method, params)).toBe("permission_denied");
      expect(codeOf({ allows: () => false }, method, params)).toBe("permission_denied");
    }
  });

  test.each(WITH_NAMESPACE)("%s is refused if its parameters have another form", (method, about) => {
    for (const params of [undefined, null, 7, "x", [], ...about(7 as never), ...about(undefined as never)])
      expect(["store_refused", "permission_denied"]).toContain(codeOf(tenant("admin"), method, params));
  });

  test("duties for all namespaces are for servers alone", () => {
    const duties = [...STORE_CALL_TABLE].filter(([, { role }]) => role === "server").map(([method]) => method);
    expect(duties.sort()).toEqual(["retention.list", "tasks.expired", "transact", "workers.forget", "workers.sweep"]);
    for (const method of duties as StoreMethod[])
      expect(codeOf({ allows: () => true }, method, {})).toMatch(/permission_denied|store_refused/);
    expect(codeOf({ allows: () => true }, "debts.read", { limit: 1 })).toBe("permission_denied");
    expect(codeOf({ allows: () => true, duties: true }, "debts.read", { limit: 1 })).toBe("allowed");
  });

  test("the batches of a namespace belong to whoever it belongs to", () => {
    expect(codeOf(tenant("worker"), "runs.claim", { namespace: "holdfast.batches/mine" })).toBe("allowed");
    expect(codeOf(tenant("worker"), "runs.claim", { namespace: "holdfast.batches/other" })).toBe("permission_denied");
  });
});
