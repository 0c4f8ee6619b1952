import { requireKind } from "../define/conversations.ts";
import { fromErrorRecord, toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import { formatDuration } from "../model/duration.ts";
import type { Payload } from "../model/payload.ts";
import { isClosed, type Run } from "../model/run.ts";
import { waitsForPlace } from "../model/waiting.ts";
import type { AskAnswer } from "../ports/store.ts";
import type { QueryDefinition } from "../replay/context/conversations.ts";
import type { ClientCore } from "./client-core.ts";
import { encodedArgument } from "./updates.ts";

/** How long a caller waits for the run to begin; and then a process without the code for one that has it. */
const QUERY_TIMEOUT_MS = 10_000;
/** How often it looks whether the run has begun: soon, and then ever more rarely. */
const BEGIN_LOOK_MS_MIN = 2;
const BEGIN_LOOK_MS_MAX = 250;
/** How often it looks for the answer, in case no hint announced it; and asks again, in case no hint reached a worker. */
const ASK_LOOK_MS = 500;
const ASK_AGAIN_MS = 2_500;

/** Where the run of a query is found. */
export interface QueriedRun {
  readonly knownRunId: string | undefined;
  /** The newest run of the chain. */
  read(): Promise<Run>;
}

/** In order: the run itself, its history replayed here, a worker of another process that has the code. */
export async function queryRun(
  core: ClientCore,
  about: QueriedRun,
  definition: QueryDefinition<unknown, never, never>,
  given: unknown,
): Promise<unknown> {
  core.life.assertOpen();
  requireKind(definition, "query", "query: the first argument");
  const { name } = definition;
  const argument = await encodedArgument(core, definition, given);
  const { codec } = core.ports;
  try {
    return codec.decode(await answered(core, about, name, argument));
  } catch (error) {
    // The same error, whichever process has answered.
    const { redact } = core.ports;
    if (isHoldfastError(error, "query_failed")) throw fromErrorRecord(toErrorRecord(error, redact ? { redact } : {}));
    throw error;
  }
}

async function answered(core: ClientCore, about: QueriedRun, name: string, argument: Payload): Promise<Payload> {
  const { knownRunId } = about;
  const early = knownRunId === undefined ? undefined : await core.local?.live(knownRunId, name, argument);
  if (early !== undefined) return early;
  const { clock } = core.ports;
  const began = clock.monotonic();
  for (let lookMs = BEGIN_LOOK_MS_MIN; ; lookMs = Math.min(2 * lookMs, BEGIN_LOOK_MS_MAX)) {
    const run = await about.read();
    const live = await core.local?.live(run.runId, name, argument);
    if (live !== undefined) return live;
    if (hasBegun(run)) return core.local?.replayed(run, name, argument) ?? askOthers(core, run, name, argument);
    const waitedMs = clock.monotonic() - began;
    if (waitedMs >= QUERY_TIMEOUT_MS || mayNotBegin(run, clock.now())) throw notBegun(run, name);
    await ringing(core, new Bell(), Math.min(lookMs, QUERY_TIMEOUT_MS - waitedMs));
  }
}

/** Before its first commit, what the code would do at first is not settled: a run may still be canceled without it. */
function hasBegun({ commit, status }: Run): boolean {
  return commit > 0 || isClosed(status);
}

/** Whether waiting is of no use. A start without a delay is never refused here, whatever our clock says. */
function mayNotBegin({ status, availableAt, createdAt, waitingFor }: Run, now: number): boolean {
  if (waitsForPlace(waitingFor)) return true;
  return status === "parked" || (availableAt !== null && availableAt > Math.max(createdAt, now));
}

function notBegun(run: Run, name: string): HoldfastError {
  const { id, runId, status, availableAt, createdAt, error } = run;
  const delayed = availableAt !== null && availableAt > createdAt;
  const why =
    status === "parked"
      ? `it is parked${error ? `: ${error.message}` : ""}`
      : waitsForPlace(run.waitingFor)
        ? `it waits for a place in queue "${run.queue}"`
        : delayed
          ? `it is to begin at ${new Date(availableAt).toISOString()}`
          : `no worker has brought it to its first wait within ${formatDuration(QUERY_TIMEOUT_MS)}`;
  const message = `Query "${name}" has no answer: run "${id}" has not begun, ${why}.`;
  return new HoldfastError("run_not_begun", message, { data: { id, runId, name, status } });
}

/** The newest run of a chain of runs that continued as new. */
export async function lastOfChain(core: ClientCore, run: Run): Promise<Run> {
  let last = run;
  while (last.continuedAs !== null) {
    const { namespace, continuedAs: runId } = last;
    const next = await core.queries.read({ namespace, runId });
    if (!next) return last;
    last = next;
  }
  return last;
}

async function askOthers(core: ClientCore, run: Run, name: string, payload: Payload): Promise<Payload> {
  const { clock, notifier } = core.ports;
  const { namespace, runId, workflow, version } = run;
  const began = clock.monotonic();
  const asks: { readonly namespace: string; readonly askId: string }[] = [];
  const bell = new Bell();
  const stop = notifier.subscribe((hint) => {
    if (hint.type === "answered" && asks.some(({ askId }) => askId === hint.askId)) bell.ring();
  });
  try {
    for (let askAt = began; ; ) {
      const now = clock.monotonic();
      if (now - began >= QUERY_TIMEOUT_MS) throw queryTimeout(run, name);
      if (now >= askAt) {
        const askId = core.newId();
        asks.push({ namespace, askId });
        const ask = { askId, namespace, runId, workflow, version, name, payload, ttlMs: QUERY_TIMEOUT_MS };
        await core.queries.ask(ask);
        askAt = now + ASK_AGAIN_MS;
      } else {
        await ringing(core, bell, ASK_LOOK_MS);
        const answers = await Promise.all(asks.map((ask) => core.queries.answer(ask)));
        const answer = answers.find((one) => one !== null);
        if (answer) return read(answer);
      }
    }
  } finally {
    stop();
    if (!core.life.over) for (const ask of asks) void core.queries.forget(ask).catch(() => {});
  }
}

function read(answer: AskAnswer): Payload {
  if (answer.type === "answered") return answer.payload;
  throw fromErrorRecord(answer.error);
}

function queryTimeout({ id, runId, workflow, version }: Run, name: string): HoldfastError {
  const message = `Query "${name}" of run "${id}" was not answered within ${formatDuration(QUERY_TIMEOUT_MS)}: this process does not have the code of workflow "${workflow}" version "${version}", and no worker that has it has answered.`;
  return new HoldfastError("query_timeout", message, { data: { id, runId, workflow, version, name } });
}

/** Waits for the bell, but no longer than this. Throws if the client is closed meanwhile. */
async function ringing(core: ClientCore, bell: Bell, ms: number): Promise<void> {
  const timer = core.ports.clock.setTimer(ms, () => bell.ring());
  const forget = core.life.watch(() => bell.ring());
  await bell.rung();
  forget();
  timer.cancel();
  core.life.assertOpen();
}

/** A hint that comes while nobody listens is not lost. */
class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  rung(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#rung = false;
        this.#wake = undefined;
        resolve();
      };
      if (this.#rung) done();
      else this.#wake = done;
    });
  }
}
