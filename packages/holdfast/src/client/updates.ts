import { cameTooLate, type UpdateFate, updateFailure } from "../calls/update-answer.ts";
import { requireKind } from "../define/conversations.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { checkedLater, checkOptions, isId, oneOf, requireDuration } from "../errors/option-checks.ts";
import { invalidValue, validateWith } from "../errors/standard-schema.ts";
import type { CheckedDuration } from "../model/checked-duration.ts";
import { formatDuration } from "../model/duration.ts";
import { updateMessageId } from "../model/ids.ts";
import { EMPTY_PAYLOAD, type Payload } from "../model/payload.ts";
import type { DeliverOutcome, RunRef } from "../ports/store.ts";
import type { QueryDefinition, UpdateDefinition } from "../replay/context/conversations.ts";
import { type Offering, requireOffered } from "../replay/context/offers.ts";
import type { ClientCore } from "./client-core.ts";

/** Options of `handle.update`. */
export interface UpdateOptions<S extends string = string> {
  /**
   * Two updates with the same name and id are one: the second gets the first one's answer, also after the end of the run. One
   * with the id of another update is refused with `update_id_taken`.
   * @defaultValue a new id
   */
  readonly id?: string;
  /**
   * Wait for the handler's answer, or only until the run has accepted the update.
   * @defaultValue `"completed"`
   */
  readonly wait?: "accepted" | "completed";
  /**
   * How long to wait; then the call rejects with `update_timeout`. The update is not withdrawn.
   * @defaultValue no limit
   */
  readonly timeout?: CheckedDuration<S>;
}

/** The argument is required unless the update may be sent without one. */
export type UpdateArguments<Sent, Options> = undefined extends Sent
  ? [argument?: Sent, options?: Options]
  : [argument: Sent, options?: Options];

/** An update that the run has accepted. */
export interface AcceptedUpdate<Out = unknown> {
  /** The id of the update: ask for its answer with it, from any process. */
  readonly id: string;
  /** The answer of the handler. */
  result(): Promise<Out>;
}

export const UPDATE_OPTIONS = {
  id: isId("update id"),
  wait: oneOf("accepted", "completed"),
  timeout: checkedLater,
};

/** An update that is ready to be sent. */
export interface PreparedUpdate {
  readonly name: string;
  readonly id: string;
  readonly messageId: string;
  readonly payload: Payload;
  readonly wait: "accepted" | "completed";
  readonly timeoutMs: number | undefined;
}

/** How the update reaches its run; throws what the caller gets if it does not. */
export type SendUpdate = (update: PreparedUpdate) => Promise<SentUpdate>;

interface SentUpdate extends Pick<DeliverOutcome, "outcome" | "status"> {
  readonly runId: string;
  /** The run was started with it. */
  readonly created?: boolean;
}

/** Checks everything, before anything is sent. */
export async function prepareUpdate(
  core: ClientCore,
  definition: UpdateDefinition<never, unknown, never>,
  argument: unknown,
  options: UpdateOptions = {},
  to?: Offering,
): Promise<PreparedUpdate> {
  core.life.assertOpen();
  requireKind(definition, "update", "update: the first argument");
  requireOffered(to, definition, "update");
  const { name } = definition;
  const where = `update "${name}"`;
  checkOptions(options, UPDATE_OPTIONS, where);
  const timeoutMs = options.timeout === undefined ? undefined : requireDuration(options.timeout, where, "timeout");
  const payload = await encodedArgument(core, definition, argument);
  const id = options.id ?? core.newId();
  return { name, id, messageId: updateMessageId(id), payload, wait: options.wait ?? "completed", timeoutMs };
}

/**
 * The run that continues the one of the update was purged: nothing can be sent any more, but an earlier run may have the answer.
 * Throws the given error if none has.
 */
export async function sentBefore(
  core: ClientCore,
  run: RunRef,
  messageId: string,
  notFound: unknown,
): ReturnType<SendUpdate> {
  const [state] = await core.call((store) => store.inbox.replies({ updates: [{ run, messageId }] }));
  if (!state || state.runId === null) throw notFound;
  return { outcome: "duplicate", runId: state.runId, status: state.status };
}

/** The argument as it is stored. Without one, nothing is. */
export async function encodedArgument(
  core: ClientCore,
  { kind, name, schema }: UpdateDefinition<never, unknown, never> | QueryDefinition<unknown, never, never>,
  argument: unknown,
): Promise<Payload> {
  let value = argument;
  if (schema) {
    const result = await validateWith(schema, argument);
    if (!result.ok) throw invalidValue("invalid_input", `argument of ${kind} "${name}"`, result.issues);
    value = result.value;
  }
  return value === undefined ? EMPTY_PAYLOAD : core.ports.codec.encode(value, `argument of ${kind} "${name}"`);
}

/** Sends an update, and waits for what the caller wants to know. */
export async function sendUpdate(core: ClientCore, update: PreparedUpdate, send: SendUpdate): Promise<unknown> {
  const { runId, fate } = await sendOnce(core, update, send, update.timeoutMs);
  if (fate.stage !== "accepted") return answerOf(core, update, fate);
  const result = (): Promise<unknown> => laterAnswer(core, update, runId);
  return { id: update.id, result };
}

/**
 * The same, sent again as long as it comes too late for one run and reaches another the next time. A run that was started with it
 * and does not look at it is no reason to start another.
 */
export async function sendUntilTaken(core: ClientCore, update: PreparedUpdate, send: SendUpdate): Promise<unknown> {
  const { clock } = core.ports;
  const until = clock.monotonic() + (update.timeoutMs ?? Number.POSITIVE_INFINITY);
  for (let before: string | undefined; ; ) {
    const leftMs = update.timeoutMs === undefined ? undefined : Math.max(0, until - clock.monotonic());
    const { runId, created, fate } = await sendOnce(core, update, send, leftMs);
    if (!cameTooLate(fate) || created || runId === before) return answerOf(core, update, fate);
    before = runId;
  }
}

async function sendOnce(
  core: ClientCore,
  update: PreparedUpdate,
  send: SendUpdate,
  timeoutMs: number | undefined,
): Promise<{ readonly runId: string; readonly created: boolean; readonly fate: UpdateFate }> {
  const waiting = core.updates.wait(update, update.wait === "accepted");
  try {
    const { outcome, runId, status, created = false } = await send(update);
    waiting.sentTo(runId, outcome === "duplicate" || status === "parked");
    return { runId, created, fate: await within(core, update, waiting.fate, timeoutMs) };
  } finally {
    waiting.cancel();
  }
}

/** The answer to an update that was sent before; of one that was answered at once, `wait: "accepted"` has it too. */
async function laterAnswer(core: ClientCore, update: PreparedUpdate, runId: string): Promise<unknown> {
  const waiting = core.updates.wait(update, false);
  try {
    waiting.sentTo(runId, true);
    return read(core, update, await waiting.fate);
  } finally {
    waiting.cancel();
  }
}

/** A refused update rejects, whatever the caller waits for. */
function answerOf(core: ClientCore, update: PreparedUpdate, fate: UpdateFate): unknown {
  if (update.wait === "completed" || fate.event === undefined) return read(core, update, fate);
  return { id: update.id, result: async () => read(core, update, fate) };
}

function read(core: ClientCore, { name, id }: PreparedUpdate, fate: UpdateFate): unknown {
  const failure = updateFailure({ name, id }, fate);
  if (failure) throw failure;
  const payload = fate.event?.payload;
  return payload === undefined ? undefined : core.ports.codec.decode(payload);
}

async function within<T>(
  core: ClientCore,
  { name, id }: PreparedUpdate,
  answer: Promise<T>,
  timeoutMs: number | undefined,
): Promise<T> {
  if (timeoutMs === undefined) return answer;
  return new Promise<T>((resolve, reject) => {
    const timer = core.ports.clock.setTimer(timeoutMs, () => {
      const message = `Update "${name}" was not answered within ${formatDuration(timeoutMs)}. It is not withdrawn: ask for its answer with the id "${id}".`;
      reject(new HoldfastError("update_timeout", message, { data: { name, updateId: id } }));
    });
    answer.then(resolve, reject).finally(() => timer.cancel());
  });
}
