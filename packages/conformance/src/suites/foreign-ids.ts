import { type RunImage, resumeNote, type Store, type StoreMethod } from "holdfast/adapter";
import { expect } from "vitest";
import { aStart, type Fixture, PAUSED, REPLACED } from "../fixture.ts";
import type { Holder } from "../holder.ts";
import { bytes, end, errorRecord, HOLD, LEASE_MS, newRun, park } from "../sample-data.ts";
import { aPut, aSchedule } from "../sample-schedules.ts";
import { byHolder, COMPLETED } from "../sample-tasks.ts";
import type { Suite } from "../suite.ts";

/** In every text of what the other namespace must not learn. */
const SECRET = "secret";
const secret = bytes(`"${SECRET}"`);

/** What there is in the namespace "default", as somebody of the namespace "other" may know it: by its ids. */
interface Known {
  readonly t: Fixture;
  readonly held: Holder;
  readonly parked: Holder;
  readonly failed: Holder;
  readonly taskKey: { readonly runId: string; readonly seq: number };
  readonly lockSeq: number;
  readonly askId: string;
  /** A run that has left for another store. */
  readonly left: RunImage;
}

const ns = "other";

/** Each call of the port, in the name of the other namespace, with ids that are not its own. `null`: it names no namespace. */
const CALLS: { readonly [M in StoreMethod]: ((store: Store, known: Known) => Promise<unknown>) | null } = {
  "runs.start": (store, { t, held }) => {
    const starts = [aStart(newRun(held.runId, { namespace: ns, id: "mine" }), { ifRunning: "replace" })];
    return refused(
      store.runs.start({ starts, holdBy: { ...worker(held), claimId: t.newId() }, replaceError: REPLACED }),
    );
  },
  "runs.debounce": (store, { held }) => {
    const start = aStart(newRun(held.runId, { namespace: ns, key: "k" }));
    return refused(store.runs.debounce({ start, key: "k", forMs: 1, maxMs: null }));
  },
  "runs.claim": (store, { t, held }) => store.runs.claim(t.claimParams(held.workerId, { namespace: ns })),
  "runs.commit": (store, { held }) =>
    store.runs.commit({ commits: [{ ...held.draft(HOLD, { events: 1 }), namespace: ns }] }),
  "runs.releaseIfHeld": (store, { held }) => store.runs.releaseIfHeld({ ...worker(held), runs: [held] }),
  "runs.restartIfHeld": (store, { held }) => {
    const event = { type: "run_restarted", op: null } as const;
    const { epoch, commitNumber: commit, eventCount } = held;
    return store.runs.restartIfHeld({ ...run(held), epoch, commit, eventCount, event });
  },
  "runs.holdIfParkedByOtherCode": (store, { t, held }) => {
    const handlers = [{ workflow: "order", version: "1", code: "c".repeat(32) }];
    const about = { queues: ["default"], handlers, limit: 10, event: resumeNote({ by: "ana" }) };
    return store.runs.holdIfParkedByOtherCode({ ...worker(held), claimId: t.newId(), ...about });
  },
  "runs.pauseIfIdle": (store, { parked }) =>
    store.runs.pauseIfIdle({ run: run(parked), epoch: parked.epoch, error: PAUSED }),
  "runs.resumeIfParked": (store, { parked }) =>
    store.runs.resumeIfParked({ run: run(parked), epoch: parked.epoch, event: resumeNote({ by: "ana" }), dueAt: null }),
  "runs.terminate": (store, { held }) => store.runs.terminate({ runs: [run(held)], error: errorRecord("stop") }),
  "runs.reopenIfFailed": (store, { failed }) => {
    const event = { type: "run_retried", op: null } as const;
    return store.runs.reopenIfFailed({ run: run(failed), eventCount: failed.eventCount, event });
  },
  "runs.fork": (store, { t, failed }) => {
    const event = { type: "run_forked", op: null } as const;
    const copy = t.newRun({ namespace: ns });
    return store.runs.fork({ origin: run(failed), copied: 1, judged: 1, run: copy, numberedFrom: 0, event });
  },
  "runs.watch": (store, { t, held }) =>
    store.runs.watch({ watches: [{ run: run(held), by: { namespace: ns, runId: t.newId(), op: "watch" } }] }),
  "runs.read": (store, { held }) => store.runs.read({ runs: [run(held), { namespace: ns, id: SECRET }] }),
  "runs.list": (store) => store.runs.list({ namespace: ns, limit: 10 }),
  "runs.count": (store) => store.runs.count({ namespace: ns, atMost: null }),
  "runs.purge": (store, { t, failed }) =>
    store.runs.purge({ namespace: ns, endedBefore: t.now + 1_000_000, runIds: [failed.runId], limit: 10 }),
  "histories.read": (store, { held }) =>
    store.histories.read({ runs: [{ ...run(held), afterSeq: 0 }], limitPerRun: 10 }),
  "segments.read": (store, { held }) => store.segments.read({ runs: [{ ...run(held), afterSeq: 0 }], limitPerRun: 10 }),
  "segments.addIfCurrent": (store, { held }) =>
    store.segments.addIfCurrent({
      ...run(held),
      edition: 0,
      segments: [{ firstSeq: 1, lastSeq: 1, bytes: secret, sum: 1 }],
    }),
  "segments.drop": (store, { held }) => store.segments.drop({ runs: [run(held)] }),
  "inbox.deliver": (store, { t, held }) => store.inbox.deliver({ messages: [t.newMessage(run(held))], inboxMax: 10 }),
  "inbox.read": (store, { held }) => store.inbox.read({ runs: [{ ...run(held), after: 0 }] }),
  "inbox.replies": (store, { held }) => store.inbox.replies({ updates: [{ run: run(held), messageId: "m" }] }),
  "tasks.claim": (store, { t, held }) => store.tasks.claim(t.tasks.claimParams(held.workerId, { namespace: ns })),
  "tasks.finish": (store, { taskKey, held }) => {
    const finish = { ...taskKey, namespace: ns, epoch: 0, by: byHolder(held.workerId), result: COMPLETED };
    return store.tasks.finish({ finishes: [finish] });
  },
  "tasks.beat": (store, { taskKey, held }) => {
    const beat = { ...taskKey, namespace: ns, epoch: 0, by: byHolder(held.workerId), details: secret };
    return store.tasks.beat({ beats: [beat] });
  },
  "tasks.cancel": (store, { taskKey }) => store.tasks.cancel({ namespace: ns, tasks: [taskKey] }),
  "tasks.expired": null,
  "tasks.read": (store, { taskKey }) => store.tasks.read({ namespace: ns, tasks: [taskKey] }),
  "tasks.list": (store, { taskKey }) => store.tasks.list({ namespace: ns, runId: taskKey.runId, limit: 10 }),
  "tasks.position": (store, { taskKey }) => store.tasks.position({ namespace: ns, ...taskKey, atMost: 10 }),
  "versions.register": (store) =>
    store.versions.register({ namespace: ns, versions: [{ workflow: "order", version: "1", hash: "0" }] }),
  "versions.updateIfKnown": (store) =>
    store.versions.updateIfKnown({ namespace: ns, workflow: SECRET, version: "1", change: { deprecated: true } }),
  "versions.list": (store) => store.versions.list({ namespace: ns }),
  "workers.register": (store, { held }) => {
    const lists = { queues: ["default"], workflows: [], labels: {}, leaseMs: LEASE_MS };
    return store.workers.register({ ...worker(held), name: "thief", ...lists });
  },
  "workers.heartbeat": (store, { held }) =>
    store.workers.heartbeat({ ...worker(held), leaseMs: LEASE_MS * 9, draining: true }),
  "workers.readHeld": (store, { held }) => store.workers.readHeld(worker(held)),
  "workers.readHeldTasks": (store, { held }) => store.workers.readHeldTasks(worker(held)),
  "workers.stop": (store, { held }) => store.workers.stop(worker(held)),
  "workers.sweep": null,
  "workers.list": (store) => store.workers.list({ namespace: ns }),
  "workers.askToDrain": (store, { held }) => store.workers.askToDrain(worker(held)),
  "workers.readLog": (store, { held }) => store.workers.readLog({ ...worker(held), before: null, limit: 10 }),
  "workers.addRates": (store, { held }) => store.workers.addRates({ ...worker(held), no: 1, rates: [] }),
  "workers.readRates": (store) => store.workers.readRates({ namespace: ns, from: 0, to: 9e15, grainMs: 60_000 }),
  "workers.forget": null,
  "workers.readLeader": null,
  "debts.read": (store, { failed }) => store.debts.read({ runs: [run(failed)], limit: 10 }),
  "debts.pay": (store, { failed }) => store.debts.pay({ debts: [{ ...run(failed), debtNo: 1 }] }),
  "locks.pass": (store, { held, lockSeq }) =>
    store.locks.pass({ asks: [{ ...run(held), seq: lockSeq, epoch: held.epoch }], givenBackBy: [run(held)] }),
  "locks.list": (store, { held }) => store.locks.list({ namespace: ns, of: { runId: held.runId }, limit: 10 }),
  "queues.setIfRevision": (store, { t }) =>
    store.queues.setIfRevision({ namespace: ns, queue: "default", limits: null, revision: null, next: t.newId() }),
  "queues.list": (store) => store.queues.list({ namespace: ns, queue: SECRET, holdersMax: 10 }),
  "queues.backlog": (store) => store.queues.backlog({ namespace: ns, atMost: 10, lateMs: 0 }),
  "namespaces.allow": (store) => store.namespaces.allow({ namespace: ns, other: "third" }),
  "namespaces.disallow": (store) => store.namespaces.disallow({ namespace: ns, other: "third" }),
  "namespaces.read": (store) => store.namespaces.read({ namespace: ns }),
  "asks.ask": (store, { t, held }) => {
    const about = { workflow: "order", version: "1", name: "state", payload: bytes("1"), ttlMs: 1_000 };
    return store.asks.ask({ asks: [{ askId: t.newId(), ...run(held), ...about }] });
  },
  "asks.take": (store) => store.asks.take({ namespace: ns, handlers: [{ workflow: SECRET, version: "1" }], limit: 10 }),
  "asks.answer": (store, { askId }) =>
    store.asks.answer({ answers: [{ namespace: ns, askId, answer: { type: "answered", payload: bytes("0") } }] }),
  "asks.read": (store, { askId }) => store.asks.read({ asks: [{ namespace: ns, askId }] }),
  "asks.forget": (store, { askId }) => store.asks.forget({ asks: [{ namespace: ns, askId }] }),
  "payloads.read": (store, { held }) =>
    store.payloads.read({ runs: [{ ...run(held), after: null }], limitPerRun: 10, bytesPerRun: 1_000 }),
  "payloads.replaceIfUnchanged": (store, { failed }) => {
    const place = { part: "input", number: 0 } as const;
    const payload = { ...run(failed), ...place, from: secret, to: bytes("0") };
    return store.payloads.replaceIfUnchanged({ payloads: [payload] });
  },
  "schedules.putIfRevision": (store, { t }) =>
    store.schedules.putIfRevision({
      puts: [aPut(t, { id: SECRET, namespace: ns, revision: t.newId() })],
      announce: false,
    }),
  "schedules.due": null,
  "schedules.read": (store) => store.schedules.read({ schedules: [{ namespace: ns, id: SECRET }] }),
  "schedules.decisions": (store) => store.schedules.decisions({ namespace: ns, id: SECRET }),
  "schedules.list": (store) => store.schedules.list({ namespace: ns, limit: 10 }),
  "schedules.remove": (store) => store.schedules.remove({ namespace: ns, id: SECRET }),
  "retention.set": (store) => store.retention.set({ namespace: ns, rules: {} }),
  "retention.read": (store) => store.retention.read({ namespace: ns }),
  "retention.list": null,
  "transfers.identify": null,
  "transfers.read": (store, { held }) => store.transfers.read({ runs: [run(held)] }),
  "transfers.departIfIdle": (_, { t, parked }) => t.transfers.depart(parked.runId, { namespace: ns }),
  "transfers.departures": (store, { left }) =>
    store.transfers.departures({ namespace: ns, runId: left.run.runId, limit: 10 }),
  "transfers.arrive": (_, { t, left }) => t.transfers.arrive(left, { namespace: ns, epoch: left.run.epoch + 1 }),
  "transfers.confirm": (store, { left }) =>
    store.transfers.confirm({ namespace: ns, runId: left.run.runId, epoch: left.run.epoch }),
  // The suite of namespaces tries it: not every store has it.
  transact: null,
  readClock: null,
};

/** Every call with ids of another namespace: none reveals anything, and none changes anything. */
export const foreignIds: Suite = {
  noun: "foreign ids",
  cases: Object.fromEntries(
    Object.entries(CALLS).flatMap(([method, call]) =>
      call === null
        ? []
        : [
            [
              `${method} neither shows nor changes anything of another namespace`,
              async (t: Fixture) => {
                const known = await populate(t);
                const before = await everything(known);
                const answer = await call(t.store, known);
                expect(text(answer)).not.toContain(SECRET);
                expect(await everything(known)).toEqual(before);
              },
            ] as const,
          ],
    ),
  ),
};

async function populate(t: Fixture): Promise<Known> {
  const workerId = await t.worker({ leaseMs: 1_000_000, name: SECRET });
  const held = await t.held({ id: SECRET, input: secret }, workerId);
  await t.deliver(t.ref(held.runId), { payload: secret, messageId: SECRET });
  const [taskKey] = await held.schedule([{}]);
  const [lockSeq = 0] = await t.locks.request(held, [SECRET]);
  const parked = await t.held({ id: `${SECRET} parked` }, workerId);
  await parked.commit(park(SECRET));
  const failed = await t.held({ id: `${SECRET} failed`, input: secret }, workerId);
  await failed.commit(end({ status: "failed", output: null, error: errorRecord(SECRET) }), { events: 1 });
  await aSchedule(t, { id: SECRET });
  await t.store.versions.register({ namespace: "default", versions: [{ workflow: SECRET, version: "1", hash: "1" }] });
  const askId = t.newId();
  const about = { workflow: SECRET, version: "1", name: SECRET, payload: secret, ttlMs: 1_000_000 };
  await t.store.asks.ask({ asks: [{ askId, namespace: "default", runId: held.runId, ...about }] });
  const { run: leaving } = await t.start({ id: `${SECRET} left`, input: secret });
  const left = await t.transfers.departed(leaving.runId);
  return { t, held, parked, failed, taskKey: taskKey as Known["taskKey"], lockSeq, askId, left };
}

/** What the namespace "default" has. */
async function everything({ t, held, parked, failed, askId, left }: Known): Promise<unknown> {
  const { store } = t;
  const namespace = "default";
  const runs = [held, parked, failed, left.run].map(({ runId }) => runId);
  return [
    await Promise.all(runs.map(async (runId) => [await t.run(runId), await t.history(runId), await t.inbox(runId)])),
    await store.tasks.list({ namespace, limit: 10 }),
    await store.locks.list({ namespace, of: { name: SECRET }, limit: 10 }),
    await store.workers.list({ namespace }),
    await store.schedules.list({ namespace, limit: 10 }),
    await store.versions.list({ namespace }),
    await store.queues.list({ namespace, holdersMax: 10 }),
    await store.namespaces.read({ namespace }),
    await store.retention.read({ namespace }),
    await store.asks.read({ asks: [{ namespace, askId }] }),
    await store.runs.count({ namespace, atMost: null }),
    await store.transfers.departures({ namespace, limit: 10 }),
  ];
}

function run({ runId }: Holder): { readonly namespace: string; readonly runId: string } {
  return { namespace: ns, runId };
}

function worker({ workerId }: Holder): { readonly namespace: string; readonly workerId: string } {
  return { namespace: ns, workerId };
}

/** A refusal is an answer: it must not reveal anything either. */
function refused(answer: Promise<unknown>): Promise<unknown> {
  return answer.catch((error: Error) => error.message);
}

function text(answer: unknown): string {
  return (
    JSON.stringify(answer, (_, value: unknown) =>
      value instanceof Uint8Array ? new TextDecoder().decode(value) : value,
    ) ?? ""
  );
}
