/** Callers that send updates and queries, to planned runs and to the children of others. */
import type { Client } from "../packages/holdfast/src/client/client.ts";
import type { AcceptedUpdate } from "../packages/holdfast/src/client/updates.ts";
import { jsonCodec } from "../packages/holdfast/src/codec/json-codec.ts";
import { signal } from "../packages/holdfast/src/define/definitions.ts";
import { isHoldfastError } from "../packages/holdfast/src/errors/holdfast-error.ts";
import type { MemoryState, RunRecord, UpdateRecord } from "../packages/holdfast/src/memory/state.ts";
import { updateMessageId } from "../packages/holdfast/src/model/ids.ts";
import { isClosed } from "../packages/holdfast/src/model/run.ts";
import { type Caller, insist } from "./insist.ts";
import type { PlannedTalk } from "./plan.ts";
import type { Meddling, QueryAnswer, UpdateAnswer } from "./talk-evidence.ts";
import type { Trace } from "./trace.ts";
import { ADD, drawManner, MEDDLE, type Request, SKETCH } from "./workload/talk.ts";

export interface TalkersParams extends Caller {
  readonly state: MemoryState;
  readonly trace: Trace;
  /** Does it, and keeps the scenario going until it is done. */
  readonly task: (what: string, work: () => Promise<unknown>) => void;
}

/** What a run may say instead of an answer. */
const REFUSALS = ["update_rejected", "update_failed", "handler_not_found", "run_closed", "run_continued"];
const NO_ANSWER = ["run_not_found", "query_timeout", "handler_not_found", "run_not_begun", "run_parked"];
const PASSERSBY_EVERY_MS = 900;

export class Talkers {
  readonly updates: UpdateAnswer[] = [];
  readonly queries: QueryAnswer[] = [];
  readonly meddlings: Meddling[] = [];
  readonly #params: TalkersParams;
  /** By run: the updates whose answer somebody knows. */
  readonly #known = new Map<string, string[]>();
  #extras = 0;

  constructor(params: TalkersParams) {
    this.#params = params;
  }

  /** Everything that is planned for a run. */
  begin(id: string, talk: PlannedTalk): void {
    const { task } = this.#params;
    for (const [i, { atMs, how, twice, mode }] of talk.updates.entries()) {
      const request = { id: `${id}-up${i}`, how };
      for (let k = 0; k < (twice ? 2 : 1); k++)
        task(`update ${request.id}`, async () => {
          await this.#until(atMs);
          await this.update(id, request, mode);
        });
    }
    for (const { atMs, meddles } of talk.queries)
      task(`a query to ${id}`, async () => {
        await this.#until(atMs);
        await (meddles ? this.#meddle(id) : this.#query(id));
      });
  }

  /** While there is trouble: somebody talks to runs that others have started. */
  mingle(over: () => boolean): void {
    const { time, state, dice, task } = this.#params;
    const look = (): void => {
      if (over()) return;
      const kids = [...state.runs.values()].filter(({ lineage, status }) => lineage && !isClosed(status));
      for (let n = 0; n < 3 && kids.length > 0; n++) {
        const kid = dice.pick(kids);
        task(`talking to ${kid.id}`, () => this.#chat(kid));
      }
      time.at(PASSERSBY_EVERY_MS, look);
    };
    time.at(PASSERSBY_EVERY_MS, look);
  }

  async #chat(kid: RunRecord): Promise<void> {
    const { dice } = this.#params;
    const { id } = kid;
    const wanted = kid.waitingFor.find((op) => op.startsWith("receive:g"));
    const deed = dice.next();
    if (wanted !== undefined && deed < 0.6) {
      const name = wanted.replace(/^receive:|#\d+$/g, "");
      await this.#insist((c) => c.get(id).signal(signal<string>(name), `for ${id}`), ["run_closed"]);
    } else if (deed < 0.6) await this.extraUpdate(id);
    else if (deed < 0.85) await this.#query(id);
    else if (deed < 0.93) await this.#insist((c) => c.get(id).cancel("passing by"), []);
    else if (deed < 0.96) await this.#insist((c) => c.get(id).terminate("passing by"), []);
  }

  /** An update that nobody has planned. */
  extraUpdate(id: string, how = drawManner(this.#params.dice)): Promise<void> {
    return this.update(id, { id: `extra-${++this.#extras}`, how }, "completed");
  }

  async update(id: string, request: Request, mode: "completed" | "accepted" | "timed"): Promise<void> {
    const call = async (client: Client): Promise<string> => {
      const run = client.get(id);
      if (mode === "timed")
        await run.update(ADD, request, { id: request.id, timeout: "700ms" }).catch((error: unknown) => {
          if (!isHoldfastError(error, "update_timeout")) throw error;
        });
      if (mode === "accepted") {
        const accepted = await run.update(ADD, request, { id: request.id, wait: "accepted" });
        return (accepted as AcceptedUpdate<string>).result();
      }
      return run.update(ADD, request, { id: request.id });
    };
    const since = this.newest(id);
    const answer = await this.#insist(answered(call), ["run_not_found"]);
    if (answer) this.told(id, request, answer.value, since);
  }

  /** The run that has the id now: its creation comes after that of all runs before it. */
  newest(id: string): number {
    const runs = [...this.#params.state.runs.values()].filter((run) => run.id === id);
    return Math.max(0, ...runs.map(({ createdAt }) => createdAt));
  }

  /** It was closed when somebody was answered, and an operator has retried it before the answer was read. */
  #wasReopened({ runId }: RunRecord): boolean {
    const events = this.#params.state.events.get(runId) ?? [];
    return events.some(({ type, meta }) => type === "run_retried" && meta?.attempt === undefined);
  }

  /** Somebody got an answer to an update. `since`: the newest run of the id when it was first sent. */
  told(id: string, { id: updateId, how }: Request, told: string, since: number): void {
    const { time, trace, state } = this.#params;
    const messageId = updateMessageId(updateId);
    const chains = [...state.updates].filter(([, updates]) => updates.has(messageId));
    const records = chains.map(([, updates]) => updates.get(messageId) as UpdateRecord);
    const recorded = records.some((record) => agrees(state, record, told));
    // It may have reached a run that was closed, which keeps nothing of it, and another copy of it the next run of the id.
    const isClosedOne = (run: RunRecord): boolean =>
      run.id === id && run.createdAt >= since && (isClosed(run.status) || this.#wasReopened(run));
    const isTrue = recorded || (told.startsWith("run_closed") && [...state.runs.values()].some(isClosedOne));
    const chain = recorded && chains.length === 1 ? chains[0]?.[0] : undefined;
    this.updates.push({ at: time.elapsedMs, id, updateId, how, chain, told, true: isTrue });
    const runId = records[0]?.runId;
    trace.add(time.elapsedMs, "talker", runId, `told about update ${updateId}: ${told} ${isTrue}`);
    if (runId === undefined || !told.startsWith("value ")) return;
    this.#known.set(runId, [...(this.#known.get(runId) ?? []), updateId]);
  }

  async #query(id: string): Promise<void> {
    const { time, state } = this.#params;
    let askedAt = 0;
    let known = new Map<string, readonly string[]>();
    const answer = await this.#insist((client) => {
      askedAt = time.elapsedMs;
      known = new Map([...this.#known].map(([runId, some]) => [runId, [...some]]));
      return client
        .get(id)
        .query(SKETCH)
        .catch((error: unknown) => this.#noteUnfit(id, error));
    }, NO_ANSWER);
    if (!answer?.value) return;
    const sketch = answer.value;
    const durable = state.runs.get(sketch.runId)?.eventCount;
    this.queries.push({ at: time.elapsedMs, id, askedAt, sketch, durable, known: known.get(sketch.runId) ?? [] });
  }

  /** Code without a step that it once had fits the history of an open run, but not always that of one that has ended. */
  #noteUnfit(id: string, error: unknown): undefined {
    const ended = [...this.#params.state.runs.values()].some((run) => run.id === id && isClosed(run.status));
    const unfit = isHoldfastError(error, "query_failed") && error.message.includes("does not match its history");
    if (!ended || !unfit) throw error;
    return undefined;
  }

  async #meddle(id: string): Promise<void> {
    const code = async (client: Client): Promise<string> => {
      try {
        return await client.get(id).query(MEDDLE);
      } catch (error) {
        if (isHoldfastError(error, "query_failed")) return error.code;
        throw error;
      }
    };
    const answer = await this.#insist(code, NO_ANSWER);
    if (answer) this.meddlings.push({ id, told: answer.value });
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
}

/** With what the run says instead of an answer, as text. */
export function answered(call: (client: Client) => Promise<string>): (client: Client) => Promise<string> {
  return async (client) => {
    try {
      return `value ${await call(client)}`;
    } catch (error) {
      if (!isHoldfastError(error) || !REFUSALS.includes(error.code)) throw error;
      const cause = error.cause instanceof Error ? error.cause.message : "";
      return `${error.code} ${cause}`;
    }
  };
}

/** Whether an answer about an update agrees with the store. */
function agrees(state: MemoryState, { runId, number, reply }: UpdateRecord, told: string): boolean {
  const row = state.runs.get(runId) as RunRecord;
  if (reply?.error) return told.startsWith(reply.error.code ?? "");
  const event = reply?.seq === undefined ? undefined : state.events.get(runId)?.[reply.seq - 1];
  if (event?.payload !== undefined) return told === `value ${jsonCodec.decode(event.payload)}`;
  if (event) return told === `update_failed ${event.meta?.error?.message}`;
  const reopened = state.events.get(runId)?.some(({ type }) => type === "run_retried") ?? false;
  if (told.startsWith("run_continued")) return row.status === "continued" && number <= row.consumed;
  return told.startsWith("run_closed") && (isClosed(row.status) || reopened);
}
