/**
 * The expected end of a run: its code, driven through its history by a second, much simpler machine that shares nothing
 * with the engine but the vocabulary of the history. It accepts every decision that history records (which step
 * completed with what, which timer fired first, when a cancel came) and derives what follows from them.
 */
import process from "node:process";
import { jsonCodec } from "../packages/holdfast/src/codec/json-codec.ts";
import { fromErrorRecord } from "../packages/holdfast/src/errors/error-record.ts";
import type { ChildIdentity } from "../packages/holdfast/src/model/child.ts";
import { type HistoryEvent, isFailure } from "../packages/holdfast/src/model/event.ts";
import { childRunId } from "../packages/holdfast/src/model/ids.ts";
import type { Run } from "../packages/holdfast/src/model/run.ts";
import type { Context } from "../packages/holdfast/src/replay/context/context.ts";
import { SeededRandom } from "../packages/holdfast/src/replay/context/seeded-random.ts";
import type { ChildOptions } from "../packages/holdfast/src/replay/ops/child-options.ts";
import { otherRunError } from "../packages/holdfast/src/replay/ops/other-run-error.ts";
import {
  type Branch,
  type ParallelOptions,
  type Part,
  parallelIn,
  raceIn,
  reaches,
  stoppedBy,
} from "./reference-branches.ts";
import { type TakenLock, withLockIn } from "./reference-locks.ts";
import { Continue, cancellation, decoded, type Letter, quiet, stage } from "./reference-values.ts";
import { looseEvents, withoutForgotten } from "./void-events.ts";
import { programBody } from "./workload/index.ts";
import type { Program, ProgramInput } from "./workload/program.ts";

export type Conclusion =
  | { readonly type: "completed"; readonly output: string }
  /** With the ids of the signals that were not received. */
  | { readonly type: "continued"; readonly input: string; readonly unread: readonly string[] }
  | { readonly type: "failed"; readonly error: unknown; readonly canceled: boolean }
  | { readonly type: "pending" };

interface Wish {
  readonly part: Part;
  readonly signal: string | undefined;
  readonly askedSeq: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A child that the code has asked for by handle. */
interface Kid {
  identity: ChildIdentity;
  readonly started: () => void;
}

interface Condition {
  readonly id: string;
  readonly isTrue: () => boolean;
}

interface Named {
  readonly name: string;
}

type Handle = (argument: unknown) => unknown;

const settle = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

export async function conclude(
  program: Program,
  run: Run,
  history: readonly HistoryEvent[],
  latest: boolean,
): Promise<Conclusion> {
  const machine = new ReferenceMachine(run, history);
  let conclusion: Conclusion = { type: "pending" };
  const input = jsonCodec.decode(run.input) as ProgramInput;
  programBody(program, stage(latest))(machine.context(machine.root), input).then(
    (value) => {
      conclusion = { type: "completed", output: JSON.stringify(value) };
    },
    (error: unknown) => {
      if (error instanceof Continue)
        conclusion = { type: "continued", input: JSON.stringify(error.input), unread: machine.unread };
      else conclusion = { type: "failed", error, canceled: error === machine.root.stopped };
    },
  );
  await machine.rest();
  for (const event of history) {
    if (conclusion.type !== "pending") break;
    if (machine.deliver(event)) await machine.rest();
  }
  return conclusion;
}

class ReferenceMachine {
  readonly root: Part = { parent: undefined, shielded: false, stopped: undefined };
  readonly #run: Run;
  readonly #events: readonly HistoryEvent[];
  readonly #loose: ReadonlyMap<HistoryEvent, number>;
  readonly #random: SeededRandom;
  readonly #wishes = new Map<string, Wish>();
  readonly #asked = new Map<string, number>();
  readonly #letters: Letter[] = [];
  #taken: { readonly letter: Letter; readonly part: Part }[] = [];
  readonly #handlers = new Map<string, Handle>();
  readonly #kids = new Map<string, Kid>();
  readonly #locks: TakenLock[] = [];
  #conditions: Condition[] = [];
  #now: number;
  #seq = 0;

  constructor(run: Run, events: readonly HistoryEvent[]) {
    this.#run = run;
    this.#events = withoutForgotten(events);
    this.#loose = looseEvents(events);
    this.#random = new SeededRandom(run.seed);
    this.#now = run.startedAt ?? run.createdAt;
  }

  get unread(): readonly string[] {
    return this.#letters.map((letter) => letter.messageId);
  }

  /** The code runs until it waits for events: conditions that have become true resolve one by one. */
  async rest(): Promise<void> {
    await settle();
    for (;;) {
      this.#conditions = this.#conditions.filter(({ id }) => this.#wishes.has(id));
      const first = this.#conditions.find(({ isTrue }) => isTrue());
      if (!first) return;
      const wish = this.#wishes.get(first.id) as Wish;
      this.#wishes.delete(first.id);
      wish.resolve(true);
      await settle();
    }
  }

  /** Whether the code was waiting for the event. */
  deliver(event: HistoryEvent): boolean {
    const askedSeq = this.#wishes.get(event.op ?? "")?.askedSeq ?? -1;
    // Asked for, and ended, behind a failure that was taken back: the next try does it anew.
    if (!this.#events.includes(event) || askedSeq >= (this.#loose.get(event) ?? Infinity)) return false;
    this.#seq = event.seq;
    this.#taken = [];
    switch (event.type) {
      case "signal_received":
        this.#now = event.at;
        this.#receive({
          messageId: event.meta?.messageId ?? "",
          name: event.op as string,
          value: decoded(event) ?? null,
        });
        return true;
      case "cancel_requested":
      case "deadline_reached":
        this.#now = event.at;
        if (!this.root.stopped) this.stop(this.root, cancellation(event));
        return true;
      case "step_completed":
      case "step_failed":
      case "task_completed":
      case "task_failed":
      case "timer_fired":
      case "lock_granted":
      case "child_completed":
      case "child_failed":
      case "message_sent":
      case "message_failed":
        return this.#complete(event);
      case "child_started":
        return this.#started(event);
      case "op_rescheduled":
        this.#replaced(event);
        return false;
      case "update_accepted":
        return this.#accepted(event);
      default:
        return false;
    }
  }

  #complete(event: HistoryEvent): boolean {
    const id = event.op as string;
    const wish = this.#wishes.get(id);
    if (!wish) return false;
    this.#now = event.at;
    this.#wishes.delete(id);
    const record = event.meta?.error;
    const kid = this.#kids.get(id);
    if (kid && (event.type === "child_completed" || event.meta?.status !== undefined)) kid.started();
    if (event.type === "child_failed" || event.type === "message_failed")
      wish.reject(this.#otherRunError(event, kid?.identity));
    else if (isFailure(event)) wish.reject(record ? fromErrorRecord(record) : new Error("failed"));
    else if (event.type !== "timer_fired") wish.resolve(decoded(event));
    else wish.resolve(/^(until|lock):/.test(id) ? false : undefined);
    return true;
  }

  #otherRunError({ op, meta = {} }: HistoryEvent, child: ChildIdentity | undefined): Error {
    const { id, runId = "" } = child ?? meta.to ?? {};
    const workflow = child?.workflow ?? meta.workflow ?? "";
    return otherRunError(meta, { id: id ?? runId, runId, workflow, op: op as string });
  }

  #started({ op, at, meta }: HistoryEvent): boolean {
    const kid = this.#kids.get(op as string);
    if (!kid) return false;
    this.#now = at;
    kid.identity = meta?.child ?? kid.identity;
    kid.started();
    return true;
  }

  /** Another child takes the place of the first one: it may end before its start is recorded. */
  #replaced({ op, meta }: HistoryEvent): void {
    const kid = this.#kids.get(op as string);
    if (!kid || meta?.attempt === undefined) return;
    const { runId: parent, namespace } = this.#run;
    const { id, runId, workflow, version } = kid.identity;
    const given = id === runId ? undefined : id;
    const next = childRunId(parent, op as string, meta.attempt, namespace, given);
    kid.identity = { runId: next, id: given ?? next, workflow, version };
  }

  #accepted(event: HistoryEvent): boolean {
    const name = (event.op as string).replace(/^update:|#\d+$/g, "");
    this.#now = event.at;
    Promise.resolve(this.#handlers.get(name)?.(decoded(event))).catch(() => {});
    return true;
  }

  #receive(letter: Letter): void {
    this.#letters.push(letter);
    if (this.#pass(letter.name)) return;
    const name = `receive:${letter.name}`; // of the receive that will take it
    this.#asked.set(name, (this.#asked.get(name) ?? 0) + 1);
  }

  /** Whether somebody waits for such a letter, and gets the oldest. */
  #pass(name: string): boolean {
    const first = [...this.#wishes].find(([, { signal }]) => signal === name);
    if (first) this.#wishes.delete(first[0]);
    first?.[1].resolve(this.#take(name, first[1].part));
    return first !== undefined;
  }

  handOn(): void {
    for (const { name } of [...this.#letters]) this.#pass(name);
  }

  #take(name: string, part: Part): unknown {
    const [letter] = this.#letters.splice(
      this.#letters.findIndex((one) => one.name === name),
      1,
    ) as [Letter];
    this.#taken.push({ letter, part });
    return letter.value;
  }

  stop(part: Part, error: Error): void {
    part.stopped = error;
    this.giveBack(part);
    for (const [id, wish] of [...this.#wishes]) {
      if (!reaches(part, wish.part)) continue;
      this.#wishes.delete(id);
      wish.reject(error);
    }
  }

  /** What was received in the turn in which the receiver was stopped counts as not received. */
  giveBack(part: Part): void {
    const back = this.#taken.filter((one) => reaches(part, one.part));
    this.#taken = this.#taken.filter((one) => !back.includes(one));
    this.#letters.unshift(...back.map((one) => one.letter));
  }

  /** The op that the next wish of that name is. */
  #nextId(name: string): string {
    const occurrence = (this.#asked.get(name) ?? 0) + 1;
    return occurrence === 1 ? name : `${name}#${occurrence}`;
  }

  #wish(name: string, part: Part, signal: string | undefined): Promise<unknown> {
    const id = this.#nextId(name);
    this.#asked.set(name, (this.#asked.get(name) ?? 0) + 1);
    const stopped = stoppedBy(part);
    if (stopped) return Promise.reject(stopped);
    return new Promise((resolve, reject) => {
      this.#wishes.set(id, { part, signal, askedSeq: this.#seq, resolve, reject });
    });
  }

  /** Of a child whose end is recorded, but not its start: its id follows from the op. */
  #identity(op: string, workflow: string, given: string | undefined): ChildIdentity {
    const { runId: parent, namespace } = this.#run;
    const replaced = this.#events.findLast(
      (event) => event.type === "op_rescheduled" && event.op === op && event.meta?.attempt,
    );
    const runId = childRunId(parent, op, replaced?.meta?.attempt ?? 1, namespace, given);
    return { runId, id: given ?? runId, workflow, version: "1" };
  }

  #child(
    name: string,
    part: Part,
    given: string | undefined,
  ): { readonly result: Promise<unknown>; readonly started: Promise<Kid> } {
    const id = this.#nextId(name);
    const result = this.#wish(name, part, undefined);
    result.catch(() => {});
    const started = new Promise<Kid>((resolve, reject) => {
      const kid: Kid = { identity: this.#identity(id, name, given), started: () => resolve(kid) };
      this.#kids.set(id, kid);
      result.catch(reject);
    });
    started.catch(() => {});
    return { result, started };
  }

  async #startChild(name: string, part: Part, given: string | undefined): Promise<unknown> {
    const { result, started } = this.#child(name, part, given);
    // Another run may take the place of the first one, when this run is retried.
    const kid = await started;
    const send = (op: string): Promise<unknown> => quiet(this.#wish(op, part, undefined));
    return {
      get id() {
        return kid.identity.id;
      },
      get runId() {
        return kid.identity.runId;
      },
      get workflow() {
        return kid.identity.workflow;
      },
      result: () => result,
      signal: (signal: Named) => send(`signal:${signal.name}`),
      update: (update: Named) => send(`ask:${update.name}`),
      cancel: () => send(`cancel:${kid.identity.id}`),
    };
  }

  #until(isTrue: () => boolean, part: Part): Promise<unknown> {
    const name = "until:condition";
    const id = this.#nextId(name);
    const wish = quiet(this.#wish(name, part, undefined));
    this.#conditions.push({ id, isTrue });
    return wish;
  }

  context(part: Part): Context {
    const ctx = {
      info: { runId: this.#run.runId, id: this.#run.id, historyLength: 0 },
      step: (name: string) => quiet(this.#wish(name, part, undefined)),
      task: ({ name }: Named) => quiet(this.#wish(name, part, undefined)),
      sleep: (name: string) => quiet(this.#wish(name, part, undefined)),
      sleepUntil: (name: string) => quiet(this.#wish(name, part, undefined)),
      receive: ({ name }: Named) =>
        this.#letters.some((letter) => letter.name === name) && !stoppedBy(part)
          ? Promise.resolve(this.#take(name, part))
          : quiet(this.#wish(`receive:${name}`, part, name)),
      child: ({ name }: Named, _input: unknown, { id }: ChildOptions) => this.#child(name, part, id).result,
      startChild: ({ name }: Named, _input: unknown, { id }: ChildOptions) => quiet(this.#startChild(name, part, id)),
      signal: (_to: unknown, { name }: Named) => quiet(this.#wish(`signal:${name}`, part, undefined)),
      cancel: (to: string) => quiet(this.#wish(`cancel:${to}`, part, undefined)),
      resultOf: (to: string | { readonly id: string }) =>
        quiet(this.#wish(`result:${typeof to === "string" ? to : to.id}`, part, undefined)),
      on: ({ name }: Named, handler: Handle | { readonly handle: Handle }) =>
        void this.#handlers.set(name, typeof handler === "function" ? handler : handler.handle),
      until: (isTrue: () => boolean) => this.#until(isTrue, part),
      parallel: (branches: readonly Branch[], options: ParallelOptions) => parallelIn(this, part, branches, options),
      withLock: withLockIn(this.#locks, part, (name) => this.#wish(`lock:${name}`, part, undefined)),
      race: (branches: readonly Branch[]) => raceIn(this, part, branches),
      uncancelable: (fn: Branch) => this.inside({ parent: part, shielded: true, stopped: undefined }, fn),
      sideEffect: (name: string) => this.#recorded("side_effect", name),
      now: () => new Date(this.#now),
      random: () => this.#random.next(),
      uuid: (name?: string) => (name === undefined ? this.#random.uuid() : this.#random.uuidOf(name)),
      set: () => {},
      patched: (id: string) => this.#events.some((event) => event.type === "patched" && event.op === id),
      retired: () => {},
      compensate: () => {},
      continueAsNew: (input: unknown) => {
        throw new Continue(input);
      },
    };
    return ctx as unknown as Context;
  }

  #recorded(type: HistoryEvent["type"], op: string): unknown {
    const event = this.#events.find((one) => one.type === type && one.op === op);
    return event && decoded(event);
  }

  async inside(part: Part, fn: Branch): Promise<unknown> {
    return fn(this.context(part));
  }
}
