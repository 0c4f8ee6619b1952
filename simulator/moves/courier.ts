/** Callers of runs that move: they look for a run where it is, and follow it when they are told that it has moved. */
import type { Client } from "../../packages/holdfast/src/client/client.ts";
import { signal } from "../../packages/holdfast/src/define/definitions.ts";
import { isHoldfastError } from "../../packages/holdfast/src/errors/holdfast-error.ts";
import type { RunRecord } from "../../packages/holdfast/src/memory/state.ts";
import { signalMessageId } from "../../packages/holdfast/src/model/ids.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { SignalDefinition } from "../../packages/holdfast/src/replay/context/context.ts";
import type { SimTime } from "../clock.ts";
import type { Dice } from "../dice.ts";
import type { Ack, Letters } from "../evidence.ts";
import type { PlannedRun } from "../plan.ts";
import type { SimProcess } from "../process.ts";
import type { Trace } from "../trace.ts";
import { LAST_WORD } from "../workload/last-words.ts";
import { LETTER } from "../workload/mailbox.ts";
import type { Place, Whereabouts } from "./whereabouts.ts";

export interface CourierParams<P extends Place> {
  readonly time: SimTime;
  readonly trace: Trace;
  readonly dice: Dice;
  readonly places: readonly P[];
  readonly whereabouts: Whereabouts;
  readonly anybody: (place: P) => SimProcess | undefined;
  readonly complain: (text: string) => void;
}

const TRY_AGAIN = ["store_unavailable", "store_outcome_unknown", "run_parked"];
/** It is not here, perhaps not yet or not any more. */
const ELSEWHERE = ["run_moved", "run_not_found"];
const TEND_EVERY_MS = 2_000;

export class Courier<P extends Place> {
  readonly acks: Ack[] = [];
  readonly letters: Letters[] = [];
  readonly #params: CourierParams<P>;
  readonly #open = new Map<object, string>();
  #extras = 0;

  constructor(params: CourierParams<P>) {
    this.#params = params;
  }

  get unfinished(): readonly string[] {
    return [...this.#open.values()];
  }

  begin(runs: readonly PlannedRun[]): void {
    for (const run of runs) this.#task(`everything planned for ${run.id}`, () => this.#accompany(run));
  }

  /** Runs that wait for a signal get it, and parked ones go on. */
  tend(over: () => boolean): void {
    if (over()) return;
    for (const { store } of this.#params.places) for (const row of store.memory.state.runs.values()) this.#tendTo(row);
    this.#params.time.at(TEND_EVERY_MS, () => this.tend(over));
  }

  #tendTo({ id, status, waitingFor }: RunRecord): void {
    if (status === "parked") this.#task(`resuming ${id}`, () => this.#reach(id, (c) => c.get(id).resume()));
    if (status !== "waiting") return;
    for (const op of waitingFor) {
      const name = /^receive:([^#]+)/.exec(op)?.[1];
      if (name === undefined) continue;
      const messageId = `extra/${++this.#extras}`;
      const send = (c: Client) => c.get(id).signal(signal<string>(name), `extra ${name}`, { id: messageId });
      this.#task(`an extra ${name} for ${id}`, () => this.#reach(id, send));
    }
  }

  async #accompany(run: PlannedRun): Promise<void> {
    await this.#until(run.atMs);
    await this.#start(run);
    for (const one of run.signals) this.#task(`signal ${one.name} of ${run.id}`, () => this.#signal(run.id, one));
    for (const sender of run.senders) this.#task(`${sender.name} of ${run.id}`, () => this.#write(run.id, sender));
    const { talker, cancelAtMs, terminateAtMs } = run;
    if (talker) this.#task(`the talker of ${run.id}`, () => this.#talkOn(run.id, talker));
    if (cancelAtMs !== undefined)
      this.#task(`cancel of ${run.id}`, async () => {
        await this.#until(cancelAtMs);
        await this.#cancel(run.id);
      });
    if (terminateAtMs !== undefined)
      this.#task(`end of ${run.id}`, async () => {
        await this.#until(terminateAtMs);
        await this.#reach(run.id, (c) => c.get(run.id).terminate("enough"));
      });
    if (run.awaitsResult) this.#task(`result of ${run.id}`, () => this.#result(run.id));
  }

  async #start({ id, program, delayMs, timeoutMs, priority }: PlannedRun): Promise<void> {
    const { dice, places } = this.#params;
    // A delay that the timeout does not outlast is refused: such a run gets one millisecond.
    const waitMs = Math.min(delayMs ?? 0, (timeoutMs ?? Number.POSITIVE_INFINITY) - 1);
    const home = dice.chance(0.7) ? (places[0] as P) : dice.pick(places);
    const options = {
      id,
      version: program.version,
      priority,
      ifRunning: "return" as const,
      ifClosed: "return" as const,
      ...(delayMs === undefined ? {} : { delay: { milliseconds: waitMs } }),
      ...(timeoutMs === undefined ? {} : { timeout: { milliseconds: timeoutMs } }),
    };
    for (;;) {
      const answer = await this.#ask(home, (client) => client.start(program.workflow, { hop: 0 }, options));
      if (answer && "value" in answer) return this.#ack({ kind: "start", id, runId: answer.value.runId, true: true });
      if (answer && codeOf(answer.error) === "run_moved") return;
      this.#throwUnless(answer?.error, TRY_AGAIN);
      await this.#pause();
    }
  }

  async #signal(id: string, one: PlannedRun["signals"][number]): Promise<void> {
    await this.#until(one.atMs);
    const messageId = `${id}/${one.name}/${++this.#extras}`;
    for (let i = 0; i < (one.twice ? 2 : 1); i++)
      await this.#send(id, signal<string>(one.name), `${one.name} for ${id}`, messageId);
  }

  async #write(id: string, sender: PlannedRun["senders"][number]): Promise<void> {
    const messageIds: string[] = [];
    this.letters.push({ id, sender: sender.name, messageIds });
    for (let n = 1; n <= sender.letters; n++) {
      const messageId = `${id}/${sender.name}/${n}`;
      messageIds.push(signalMessageId(LETTER.name, messageId));
      if (!(await this.#send(id, LETTER, `${sender.name} ${n}`, messageId))) return;
      if (sender.everyMs > 0) await this.#params.time.wait(sender.everyMs);
    }
  }

  async #talkOn(id: string, { atMs, everyMs, words }: NonNullable<PlannedRun["talker"]>): Promise<void> {
    await this.#until(atMs);
    for (let n = 1; n <= words; n++) {
      if (!(await this.#send(id, LAST_WORD, `${id} ${n}`, `${id}/talker/${n}`))) return;
      await this.#params.time.wait(everyMs);
    }
  }

  async #send(id: string, definition: SignalDefinition<string>, payload: string, given: string): Promise<boolean> {
    const sent = await this.#reach(id, (client) => client.get(id).signal(definition, payload, { id: given }));
    if (!sent) return false;
    const messageId = signalMessageId(definition.name, given);
    this.#ack({ kind: "signal", id, runId: undefined, messageId, true: this.#isThere(messageId) });
    return true;
  }

  /** Or was, until its run was purged: an answer may hang for long. */
  #isThere(messageId: string): boolean {
    return this.#params.places.some(
      ({ store }) =>
        [...store.memory.state.messageIds.values()].some((ids) => ids.has(messageId)) ||
        store.purgeWatch.purged.some(
          ({ history, inbox }) =>
            inbox.some((message) => message.messageId === messageId) ||
            history.some(({ meta }) => meta?.messageId === messageId),
        ),
    );
  }

  async #cancel(id: string): Promise<void> {
    if (!(await this.#reach(id, (c) => c.get(id).cancel("no longer wanted")))) return;
    const rows = this.#params.places.flatMap(({ store }) =>
      [...store.memory.state.runs.values()].filter((run) => run.id === id).map((run) => ({ run, store })),
    );
    const asked = rows.some(
      ({ run, store }) =>
        (isClosed(run.status) && run.status !== "moved") ||
        store.memory.state.inbox.get(run.runId)?.some(({ kind }) => kind === "cancel"),
    );
    const isTrue = asked || this.#params.whereabouts.isOver(id);
    this.#ack({ kind: "cancel", id, runId: rows.at(-1)?.run.runId, true: isTrue });
  }

  async #result(id: string): Promise<void> {
    const ended = (error: unknown): string => {
      const code = codeOf(error) ?? "";
      if (["run_failed", "run_canceled", "run_terminated", "run_timed_out"].includes(code))
        return code.replace("run_", "");
      throw error;
    };
    const answer = await this.#reach(id, (client) =>
      client
        .get(id)
        .result({ onParked: "wait" })
        .then((value) => `completed ${JSON.stringify(value)}`, ended),
    );
    if (!answer) return;
    const status = answer.value.split(" ")[0] as string;
    const { places } = this.#params;
    const rows = places.flatMap(({ store }) => [
      ...[...store.memory.state.runs.values()].filter((run) => run.id === id),
      ...store.purgeWatch.purged.flatMap(({ run }) => (run.id === id ? [run] : [])),
    ]);
    const isTrue = rows.some((row) => row.status === status);
    this.#ack({ kind: "result", id, runId: rows.at(-1)?.runId, told: answer.value, true: isTrue });
  }

  /** Makes a call where the run is until it is answered; undefined if the run is over. */
  async #reach<T>(id: string, call: (client: Client) => Promise<T>): Promise<{ readonly value: T } | undefined> {
    const { dice, places, whereabouts } = this.#params;
    for (;;) {
      const known = whereabouts.placeOf(id) as P | undefined;
      const place = known === undefined || dice.chance(0.2) ? dice.pick(places) : known;
      const answer = await this.#ask(place, call);
      if (answer && "value" in answer) return answer;
      const code = codeOf(answer?.error);
      if (code === "run_closed") return undefined;
      if (code !== undefined && ELSEWHERE.includes(code) && whereabouts.isOver(id)) return undefined;
      this.#throwUnless(answer?.error, [...TRY_AGAIN, ...ELSEWHERE]);
      await this.#pause();
    }
  }

  async #ask<T>(
    place: P,
    call: (client: Client) => Promise<T>,
  ): Promise<{ readonly value: T } | { readonly error: unknown } | undefined> {
    const process = this.#params.anybody(place);
    if (!process) return undefined;
    const answer = await Promise.race([
      call(process.client).then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      ),
      process.gone,
    ]);
    return answer ?? undefined;
  }

  #throwUnless(error: unknown, codes: readonly string[]): void {
    if (error !== undefined && !codes.includes(codeOf(error) ?? "")) throw error;
  }

  #pause(): Promise<void> {
    return this.#params.time.wait(this.#params.dice.between(20, 400));
  }

  async #until(atMs: number): Promise<void> {
    const { time } = this.#params;
    if (atMs > time.elapsedMs) await time.wait(atMs - time.elapsedMs);
  }

  #ack(ack: Omit<Ack, "at">): void {
    const { time, trace } = this.#params;
    this.acks.push({ at: time.elapsedMs, ...ack });
    trace.add(time.elapsedMs, "courier", ack.runId, `told: ${ack.kind} ${ack.id} ${ack.messageId ?? ""} ${ack.true}`);
  }

  #task(what: string, work: () => Promise<unknown>): void {
    const key = {};
    this.#open.set(key, what);
    work().then(
      () => this.#open.delete(key),
      (error) => {
        this.#open.delete(key);
        this.#params.complain(`${what}: ${error}`);
      },
    );
  }
}

function codeOf(error: unknown): string | undefined {
  return isHoldfastError(error) ? error.code : undefined;
}
