/** The users of the system: they start runs, send them messages, and repeat calls that fail on the way. */
import type { Client } from "../packages/holdfast/src/client/client.ts";
import type { RunHandle } from "../packages/holdfast/src/client/run-handle.ts";
import { signal } from "../packages/holdfast/src/define/definitions.ts";
import { isHoldfastError } from "../packages/holdfast/src/errors/holdfast-error.ts";
import type { MemoryState, RunRecord } from "../packages/holdfast/src/memory/state.ts";
import { signalMessageId } from "../packages/holdfast/src/model/ids.ts";
import { isClosed } from "../packages/holdfast/src/model/run.ts";
import type { SignalDefinition } from "../packages/holdfast/src/replay/context/context.ts";
import type { Ack, Letters } from "./evidence.ts";
import { type Caller, insist } from "./insist.ts";
import type { PlannedRun, PlannedTalk } from "./plan.ts";
import { answered, Talkers } from "./talkers.ts";
import type { Trace } from "./trace.ts";
import { LAST_WORD } from "./workload/last-words.ts";
import { LETTER } from "./workload/mailbox.ts";
import { NOTE } from "./workload/post.ts";
import { ADD } from "./workload/talk.ts";

export interface DriverParams extends Caller {
  readonly state: MemoryState;
  readonly trace: Trace;
  readonly complain: (text: string) => void;
}

const OPERATOR_EVERY_MS = 2_000;

export class Driver {
  readonly acks: Ack[] = [];
  readonly letters: Letters[] = [];
  readonly talkers: Talkers;
  readonly #params: DriverParams;
  readonly #open = new Map<object, string>();
  readonly #retried = new Set<string>();
  #retries: ReadonlySet<string> = new Set();
  #extras = 0;

  constructor(params: DriverParams) {
    this.#params = params;
    this.talkers = new Talkers({ ...params, task: (what, work) => this.#task(what, work) });
  }

  /** What it still waits for. */
  get unfinished(): readonly string[] {
    return [...this.#open.values()];
  }

  begin(runs: readonly PlannedRun[]): void {
    for (const run of runs) this.#task(`everything planned for ${run.id}`, () => this.#talk(run));
  }

  /** Runs that wait for a signal get it. */
  tend(runs: readonly PlannedRun[], over: () => boolean): void {
    this.#retries = new Set(runs.filter((run) => run.retried).map((run) => run.id));
    const look = (): void => {
      if (over()) return;
      for (const row of this.#params.state.runs.values()) this.#tendTo(row);
      this.#params.time.at(OPERATOR_EVERY_MS, look);
    };
    look();
  }

  /** Whether it has failed and an operator is going to retry it. */
  isToBeRetried(row: RunRecord): boolean {
    const newest = this.#params.state.byId.get(`default\n${row.id}`)?.at(-1) === row.runId;
    return row.status === "failed" && newest && this.#retries.has(row.id) && !this.#retried.has(row.runId);
  }

  #tendTo(row: RunRecord): void {
    const { runId, id, status } = row;
    const client = (client: Client): RunHandle => client.get(id);
    if (status === "parked")
      this.#task(`resuming ${id}`, () => this.#insist((c) => client(c).resume(), ["run_closed"]));
    const newest = this.#params.state.byId.get(`default\n${id}`)?.at(-1) === runId;
    if (this.isToBeRetried(row)) {
      this.#retried.add(runId);
      this.#task(`retrying ${id}`, () => this.#retry(id, runId));
    }
    if (status !== "waiting" || !newest) return;
    for (const op of row.waitingFor) {
      if (op.startsWith("until:")) this.#task(`an extra update for ${id}`, () => this.talkers.extraUpdate(id, "plain"));
      const name = /^receive:([^#]+)/.exec(op)?.[1];
      if (name === undefined) continue;
      const messageId = `extra/${++this.#extras}`;
      this.#task(`an extra ${name} for ${id}`, () =>
        this.#insist((c) => client(c).signal(signal<string>(name), `extra ${name}`, { id: messageId }), ["run_closed"]),
      );
    }
  }

  async #retry(id: string, runId: string): Promise<void> {
    // By its dead letter, or as a whole: the same.
    const byTask = this.#params.dice.chance(0.3) ? await this.#deadLetterOf(runId) : undefined;
    const call = (c: Client) => (byTask === undefined ? c.get(id).retry() : c.tasks.retry(byTask));
    const done = await this.#insist(call, ["run_closed", "run_not_failed", "task_closed"]);
    const { byId, events } = this.#params.state;
    // A later run may have the id by now: then that one is retried.
    const retried = (byId.get(`default\n${id}`) ?? []).some((one) =>
      events.get(one)?.some((event) => event.type === "run_retried"),
    );
    if (done) this.#ack({ kind: "retry", id, runId, true: retried });
  }

  async #deadLetterOf(runId: string): Promise<string | undefined> {
    const page = await this.#insist((c) => c.tasks.list({ runId, status: "dead" }), []);
    return page?.value.tasks.at(-1)?.token;
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

  async #talk(run: PlannedRun): Promise<void> {
    await this.#until(run.atMs);
    const { talk } = run;
    const first = talk?.withStart?.atMs === run.atMs ? talk.withStart : undefined;
    const handle = first ? await this.#startWith(run, first) : await this.#start(run, "return", "return");
    if (talk) this.talkers.begin(run.id, talk);
    if (talk?.withStart && !first) this.#task(`more for ${run.id}`, () => this.#later(run, talk.withStart));
    if (run.awaitsResult) this.#task(`the result of ${run.id}`, () => this.#result(run.id));
    for (const one of run.signals) this.#task(`signal ${one.name} of ${run.id}`, () => this.#signal(run.id, one));
    for (const sender of run.senders)
      if (sender.letters > 0) this.#task(`${sender.name} of ${run.id}`, () => this.#write(run.id, sender));
    const { talker } = run;
    if (talker) this.#task(`the talker of ${run.id}`, () => this.#talkOn(run.id, talker));
    const { cancelAtMs, terminateAtMs, restart } = run;
    if (cancelAtMs !== undefined) this.#task(`canceling ${run.id}`, () => this.#cancel(run.id, cancelAtMs));
    if (terminateAtMs !== undefined)
      this.#task(`terminating ${run.id}`, () => this.#terminate(run, handle.runId, terminateAtMs));
    if (!restart) return;
    await this.#until(restart.atMs);
    await this.#start(run, restart.ifRunning, restart.ifClosed);
  }

  async #later(run: PlannedRun, withStart: PlannedTalk["withStart"]): Promise<void> {
    if (!withStart) return;
    await this.#until(withStart.atMs);
    await this.#startWith(run, withStart);
  }

  /** Starts it, or finds it, and sends something in the same call. */
  async #startWith(
    run: PlannedRun,
    { what, how, ifClosed }: NonNullable<PlannedTalk["withStart"]>,
  ): Promise<{ readonly runId: string }> {
    const { id, program } = run;
    const options = { ...this.#startOptions(run), ifClosed };
    const given = `${id}-with`;
    const input = { hop: 0 };
    let runId = "";
    const { workflow } = program;
    if (what === "signal") {
      const note = { from: "driver", by: given, number: 1 };
      const call = (c: Client) => c.signalWithStart(workflow, input, NOTE, note, { ...options, signalId: given });
      const sent = await this.#insist(call, ["run_closed"]);
      runId = sent?.value.runId ?? "";
      const messageId = signalMessageId(NOTE.name, given);
      if (sent) this.#ack({ kind: "signal", id, runId, messageId, true: this.#isThere(messageId) });
    } else {
      const request = { id: given, how };
      const since = this.talkers.newest(id);
      const told = await this.#insist(
        answered(async (c) => {
          const started = await c.updateWithStart(workflow, input, ADD, request, { ...options, updateId: given });
          runId = started.run.runId;
          return started.result;
        }),
        [],
      );
      if (told) this.talkers.told(id, request, told.value, since);
    }
    if (runId !== "") this.#ack({ kind: "start", id, runId, true: this.#params.state.runs.has(runId) });
    return runId === "" ? this.#start(run, "return", "return") : { runId };
  }

  #isThere(messageId: string): boolean {
    return [...this.#params.state.messageIds.values()].some((ids) => ids.has(messageId));
  }

  #startOptions({ id, program, delayMs, timeoutMs, priority, key }: PlannedRun) {
    // A delay that the timeout does not outlast is refused: such a run gets one millisecond.
    const waitMs = Math.min(delayMs ?? 0, (timeoutMs ?? Number.POSITIVE_INFINITY) - 1);
    return {
      id,
      version: program.version,
      priority,
      ...(key === undefined ? {} : { key }),
      ...(delayMs === undefined ? {} : { delay: { milliseconds: waitMs } }),
      ...(timeoutMs === undefined ? {} : { timeout: { milliseconds: timeoutMs } }),
    };
  }

  async #start(
    run: PlannedRun,
    ifRunning: "return" | "replace",
    ifClosed: "return" | "start",
  ): Promise<{ readonly runId: string }> {
    const { id, program } = run;
    const options = { ...this.#startOptions(run), ifRunning, ifClosed };
    const started = await this.#insist((client) => client.start(program.workflow, { hop: 0 }, options), []);
    const runId = started?.value.runId ?? "";
    this.#ack({ kind: "start", id, runId, true: this.#params.state.runs.has(runId) });
    return { runId };
  }

  async #signal(id: string, one: PlannedRun["signals"][number]): Promise<void> {
    await this.#until(one.atMs);
    const messageId = `${id}/${one.name}/${++this.#extras}`;
    const definition = signal<string>(one.name);
    for (let i = 0; i < (one.twice ? 2 : 1); i++) await this.#send(id, definition, `${one.name} for ${id}`, messageId);
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
    const call = (client: Client) => client.get(id).signal(definition, payload, { id: given });
    const messageId = signalMessageId(definition.name, given);
    const sent = await this.#insist(call, ["run_closed"]);
    if (!sent) return false;
    this.#ack({ kind: "signal", id, runId: undefined, messageId, true: this.#isThere(messageId) });
    return true;
  }

  async #cancel(id: string, atMs: number): Promise<void> {
    await this.#until(atMs);
    await this.#insist((client) => client.get(id).cancel("no longer wanted"), []);
    const { state } = this.#params;
    const runs = (state.byId.get(`default\n${id}`) ?? []).map((runId) => state.runs.get(runId));
    // A run that had failed when the call was made may have been retried since.
    const isTrue = (row: RunRecord): boolean =>
      isClosed(row.status) ||
      state.inbox.get(row.runId)?.some((message) => message.kind === "cancel") === true ||
      this.#wasRetried(row);
    const asked = runs.some((row) => row !== undefined && isTrue(row));
    this.#ack({ kind: "cancel", id, runId: undefined, true: asked });
  }

  async #terminate(run: PlannedRun, runId: string, atMs: number): Promise<void> {
    await this.#until(atMs);
    await this.#insist((client) => client.get(run.id).terminate("enough"), []);
    const last = this.#lastOf(runId);
    // A run that had failed when the call was made is not changed, and may have been retried since.
    const isTrue = last !== undefined && (isClosed(last.status) || this.#wasRetried(last));
    this.#ack({ kind: "terminate", id: run.id, runId: last?.runId, true: isTrue });
  }

  async #result(id: string): Promise<void> {
    const told = await this.#resultOf(id);
    const { byId, runs, events } = this.#params.state;
    // A later run may have the id by now: the answer is about one of them. A failed run may be retried.
    const rows = (byId.get(`default\n${id}`) ?? []).map((runId) => runs.get(runId));
    const wasFailed = (row: RunRecord | undefined): boolean =>
      told === "failed" && events.get(row?.runId ?? "")?.some((event) => event.type === "run_retried") === true;
    const isTrue = rows.some((row) => agrees(told, row) || wasFailed(row));
    this.#ack({ kind: "result", id, runId: rows.at(-1)?.runId, told, true: isTrue });
  }

  /** Asked again from any live process, because the process that asked may die. */
  async #resultOf(id: string): Promise<string> {
    const answer = await this.#insist(
      (client) =>
        client
          .get(id)
          .result({ onParked: "wait" })
          .then(
            (value) => `completed ${JSON.stringify(value)}`,
            (error: unknown) => {
              const code = isHoldfastError(error) ? error.code : "";
              if (["run_failed", "run_canceled", "run_terminated", "run_timed_out"].includes(code))
                return code.replace("run_", "");
              throw error;
            },
          ),
      [],
    );
    return answer?.value ?? "";
  }

  #wasRetried({ runId }: RunRecord): boolean {
    return this.#params.state.events.get(runId)?.some((event) => event.type === "run_retried") === true;
  }

  #lastOf(runId: string): RunRecord | undefined {
    const { runs } = this.#params.state;
    let row = runs.get(runId);
    while (row?.continuedAs) row = runs.get(row.continuedAs);
    return row;
  }

  #insist<T>(
    call: (client: Client) => Promise<T>,
    fine: readonly string[],
  ): Promise<{ readonly value: T } | undefined> {
    return insist(this.#params, call, fine);
  }

  async #until(atMs: number): Promise<void> {
    const { time } = this.#params;
    if (atMs > time.elapsedMs) await time.wait(atMs - time.elapsedMs);
  }

  #ack(ack: Omit<Ack, "at">): void {
    const { time, trace } = this.#params;
    this.acks.push({ at: time.elapsedMs, ...ack });
    trace.add(time.elapsedMs, "driver", ack.runId, `told: ${ack.kind} ${ack.id} ${ack.messageId ?? ""} ${ack.true}`);
  }
}

/** Whether an answer about a result agrees with the row. */
function agrees(told: string, row: RunRecord | undefined): boolean {
  if (!row || !isClosed(row.status)) return false;
  if (!told.startsWith("completed")) return told === row.status;
  const output = row.output === null ? "undefined" : Buffer.from(row.output).toString("utf8");
  return row.status === "completed" && told === `completed ${output}`;
}
