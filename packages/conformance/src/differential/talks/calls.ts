import {
  type CarriedMessage,
  type Debt,
  type DeliverMessage,
  isClosed,
  type MessageKind,
  type Run,
  type StartParent,
  type StartRun,
} from "holdfast/adapter";
import { aStart, REPLACED } from "../../fixture.ts";
import { bytes, errorRecord } from "../../sample-data.ts";
import type { Call } from "../call.ts";
import { randomRun, sameRun, someNamespace, someRun, someWorkerId } from "../choices.ts";
import type { Dice } from "../dice.ts";
import { NAMESPACES, type World } from "../world.ts";

const ENDS: readonly MessageKind[] = ["child_completed", "child_failed", "watch_completed", "watch_failed"];
const HANDLERS = [
  { workflow: "order", version: "1" },
  { workflow: "order", version: "2" },
];

/** Children, and runs that come with messages. */
export function startTalksCall(world: World, dice: Dice): Call | undefined {
  const namespace = dice.chance(0.85) ? "default" : "other";
  const starts = dice.some(world.ids, 3).map((id) => someStart(world, dice, namespace, id));
  const ids = new Set(starts.map(({ run }) => run.id));
  // What one start of a call does to the parent of another one depends on their order, which is the store's own.
  const clear = starts.filter(({ run, parent }, i) => {
    const first = starts.findIndex((other) => other.run.id === run.id) === i;
    const parentRun = world.contents.runs.find(({ runId }) => runId === parent?.parent.runId);
    return first && !(parentRun && ids.has(parentRun.id));
  });
  if (clear.length === 0) return undefined;
  const live = dice.pick(world.liveWorkers.filter((worker) => worker.namespace === namespace));
  const workerId = live?.workerId ?? someWorkerId(world, dice);
  const holdBy = dice.chance(0.8) ? { workerId, claimId: world.newClaimId() } : null;
  return { method: "runs.start", params: { starts: clear, holdBy, replaceError: REPLACED, inboxMax: 1_000 } };
}

function someStart(world: World, dice: Dice, namespace: string, id: string): StartRun {
  const policies = {
    ifRunning: dice.of("return", "fail", "replace"),
    ifClosed: dice.of("start", "start", "return", "fail"),
    hold: dice.chance(0.8),
  } as const;
  const messages = dice.chance(0.3) ? { messages: someMessages(world, dice) } : {};
  const unborn = dice.chance(0.3) ? dice.pick(world.unborn) : undefined;
  // Always in the same namespace, also when an earlier call is repeated: in another one its run id would be taken.
  if (unborn?.parent.namespace === namespace) {
    const run = { ...randomRun(world, dice, namespace, id), runId: unborn.runId };
    return aStart(run, { ...policies, parent: someParent(world, dice, unborn.parent) });
  }
  const again = dice.chance(0.1) ? dice.pick(world.contents.runs) : undefined;
  if (again?.namespace === namespace && !again.lineage) return aStart(sameRun(again), { ...policies, ...messages });
  const parent = dice.chance(0.8) ? pickParent(world, dice) : undefined;
  const run = randomRun(world, dice, namespace, id);
  return aStart(run, { ...policies, ...messages, ...(parent ? { parent: someParent(world, dice, parent) } : {}) });
}

function pickParent(world: World, dice: Dice): Run | undefined {
  const open = world.contents.runs.filter((run) => !isClosed(run.status));
  return dice.pick(dice.chance(0.9) && open.length > 0 ? open : world.contents.runs);
}

function someParent(world: World, dice: Dice, { namespace, runId, id }: Pick<Run, "namespace" | "runId" | "id">) {
  world.noteParent(runId);
  const parent: StartParent = {
    parent: { namespace: someNamespace(namespace, dice), runId, id },
    op: dice.of("ship#1", "ship#2", "ship#3", null),
    root: { runId, id },
    depth: 1 + dice.int(3),
    policy: dice.of("cancel", "terminate", "abandon"),
  };
  return parent;
}

function someMessages(world: World, dice: Dice): CarriedMessage[] {
  return Array.from({ length: 1 + dice.int(2) }, () => {
    const used = dice.chance(0.3) ? dice.pick(world.messageIds) : undefined;
    const kind = dice.of<MessageKind>("signal", "signal", "update", "cancel");
    const messageId = used ?? world.newMessageId();
    if (kind === "update") world.noteUpdate(messageId);
    return { kind, name: kind === "cancel" ? "" : "paid", messageId, payload: bytes(String(dice.int(100))) };
  }).filter(({ messageId }, i, all) => all.findIndex((other) => other.messageId === messageId) === i);
}

/** Updates, and messages from runs. */
export function deliverTalksCall(world: World, dice: Dice): Call | undefined {
  const messages = Array.from({ length: 1 + dice.int(2) }, (): DeliverMessage => {
    const from = dice.chance(0.4) ? { from: dice.pick(NAMESPACES) as string } : {};
    if (dice.chance(0.2)) return { ...endFor(world, dice), ...from };
    const used = dice.chance(0.2) ? dice.pick(world.messageIds) : undefined;
    const kind = dice.of<MessageKind>("update", "update", "update", "signal");
    const messageId = used ?? world.newMessageId();
    if (kind === "update") world.noteUpdate(messageId);
    const sender = dice.chance(0.3) ? dice.pick(world.contents.runs) : undefined;
    const replyTo = sender && { namespace: sender.namespace, runId: sender.runId, op: "update#1" };
    const about = { kind, name: "add", messageId, payload: bytes(String(dice.int(100))) };
    return { to: someRun(world, dice), ...about, ...from, ...(replyTo ? { replyTo } : {}) };
  });
  const distinct = messages.filter(({ messageId }, i) => messages.findIndex((m) => m.messageId === messageId) === i);
  return { method: "inbox.deliver", params: { messages: distinct, inboxMax: dice.of(2, 5, 1_000) } };
}

function endFor(world: World, dice: Dice): DeliverMessage {
  const run = dice.pick(world.contents.runs);
  const runId = run?.runId ?? world.strangeId();
  const name = dice.of("ship#1", "await#1");
  const to = { namespace: someNamespace(run?.namespace, dice), runId };
  return { to, kind: dice.pick(ENDS) as MessageKind, name, messageId: `\tend\t${dice.int(30)}`, payload: bytes("1") };
}

/** Does what a debt asks for, without noting that it is paid. */
export function tellCall(world: World, dice: Dice): Call | undefined {
  const debt = dice.pick(world.contents.debts);
  if (!debt) return watchCall(world, dice);
  if (debt.kind === "close") {
    const child = dice.pick(debt.children);
    if (!child) return undefined;
    const to = { namespace: child.namespace, runId: child.openRunId };
    if (child.policy === "terminate")
      return { method: "runs.terminate", params: { runs: [to], error: errorRecord("its parent is over") } };
    const about = { kind: "cancel", name: "", messageId: `${debt.runId} is over`, payload: bytes("") } as const;
    return { method: "inbox.deliver", params: { messages: [{ to, ...about }], inboxMax: 5 } };
  }
  if (debt.kind === "reply") {
    const reply = dice.pick(debt.replies);
    if (!reply) return undefined;
    const { namespace, runId, op } = reply.to;
    const kind = dice.of("reply_completed", "reply_failed") as MessageKind;
    const about = { kind, name: op, messageId: `\treply\t${reply.messageId}`, payload: bytes("") };
    return { method: "inbox.deliver", params: { messages: [{ to: { namespace, runId }, ...about }], inboxMax: 5 } };
  }
  if (debt.kind === "lock") return passCall(world, dice);
  const to = dice.pick([...(debt.parent ? [debt.parent] : []), ...debt.watchers]);
  if (!to) return undefined;
  const { namespace, runId, op } = to;
  const kind = dice.pick(ENDS) as MessageKind;
  const about = { kind, name: op, messageId: `\tend\t${debt.runId}`, payload: debt.end.output ?? bytes("") };
  return { method: "inbox.deliver", params: { messages: [{ to: { namespace, runId }, ...about }], inboxMax: 5 } };
}

/** Some ask about their requests, and some have given locks back. */
export function passCall(world: World, dice: Dice): Call | undefined {
  const requests = Object.values(world.contents.locks).flat();
  const asks = dice.some(requests, 3).map(({ runId, seq }) => {
    const run = world.contents.runs.find((one) => one.runId === runId);
    const epoch = (run?.epoch ?? 1) - dice.of(0, 0, 0, 1);
    return { namespace: someNamespace(run?.namespace, dice), runId, seq: dice.chance(0.95) ? seq : 77, epoch };
  });
  const owing = world.contents.debts.filter(({ kind }) => kind === "lock");
  const givenBackBy = dice.some(owing, 2).map(({ namespace, runId }) => ({ namespace, runId }));
  if (asks.length + givenBackBy.length === 0) return undefined;
  return { method: "locks.pass", params: { asks, givenBackBy } };
}

export function payCall(world: World, dice: Dice): Call | undefined {
  const debts = dice.some(world.contents.debts, 2);
  if (debts.length === 0) return undefined;
  return { method: "debts.pay", params: { debts: debts.map((debt) => paymentOf(world, dice, debt)) } };
}

function paymentOf(world: World, dice: Dice, debt: Debt) {
  const key = {
    namespace: someNamespace(debt.namespace, dice),
    runId: dice.chance(0.97) ? debt.runId : world.strangeId(),
    debtNo: dice.chance(0.97) ? debt.debtNo : 999_999,
  };
  const part = <T>(items: readonly T[]): readonly T[] => (dice.chance(0.7) ? items : dice.some(items, 1));
  if (debt.kind === "close") return { ...key, children: part(debt.children).map(({ runId }) => runId) };
  if (debt.kind === "reply") return { ...key, replies: part(debt.replies).map(({ messageId }) => messageId) };
  return debt.kind === "lock" ? key : { ...key, watchers: part(debt.watchers) };
}

export function watchCall(world: World, dice: Dice): Call | undefined {
  const watcher = dice.pick(world.contents.runs);
  if (!watcher) return undefined;
  const namespace = someNamespace(watcher.namespace, dice);
  const watches = Array.from({ length: 1 + dice.int(2) }, () => {
    return { run: someRun(world, dice), by: { namespace, runId: watcher.runId, op: dice.of("await#1", "await#2") } };
  });
  return { method: "runs.watch", params: { watches } };
}

export function permitCall(_world: World, dice: Dice): Call {
  const [namespace, other] = dice.of(["default", "other"], ["other", "default"]) as [string, string];
  const method = dice.chance(0.7) ? "namespaces.allow" : "namespaces.disallow";
  return { method, params: { namespace, other } };
}

/** Questions live long here: what is left of one after the clock was set back is the store's own. */
export function askCall(world: World, dice: Dice): Call | undefined {
  const run = dice.pick(world.contents.runs);
  const open = dice.pick(world.askIds);
  const namespace = someNamespace(run?.namespace, dice);
  switch (run && (open === undefined ? 0 : dice.int(4))) {
    case 0: {
      const { runId, workflow, version } = run as Run;
      const askId = world.newAskId();
      const about = { askId, namespace, runId, workflow, version, name: "total", payload: bytes("[]") };
      return { method: "asks.ask", params: { asks: [{ ...about, ttlMs: 1e9 }] } };
    }
    case 1:
      return { method: "asks.take", params: { namespace, handlers: HANDLERS, limit: 1_000 } };
    case 2: {
      if (open === undefined) return undefined;
      const payload = bytes(String(dice.int(100)));
      const answer = dice.of(
        { type: "answered", payload } as const,
        { type: "failed", error: errorRecord("no") } as const,
      );
      return { method: "asks.answer", params: { answers: [{ namespace, askId: open, answer }] } };
    }
    case 3:
      return open === undefined || dice.chance(0.7)
        ? undefined
        : { method: "asks.forget", params: { asks: [{ namespace, askId: open }] } };
    default:
      return undefined;
  }
}

export function lookAtTalksCall(world: World, dice: Dice): Call | undefined {
  const parent = dice.pick(world.parents);
  const namespace = dice.of("default", "default", "other");
  if (parent === undefined) return undefined;
  switch (dice.int(3)) {
    case 0: {
      const runs = dice.some(world.contents.runs, 3).map(({ runId }) => ({ namespace, runId }));
      return { method: "debts.read", params: { runs, limit: 1_000 } };
    }
    case 1: {
      const statuses = dice.chance(0.3) ? { statuses: ["running", "pending"] as const } : {};
      return { method: "runs.count", params: { namespace, parent, ...statuses, atMost: dice.of(null, 1) } };
    }
    default: {
      const workflow = dice.chance(0.3) ? { workflow: "order" } : {};
      return { method: "runs.list", params: { namespace, parent, ...workflow, limit: dice.of(1, 2, 100) } };
    }
  }
}
