/** Many runs at once: `hf.batch`, which goes on when nobody looks. */
import type { BatchOptions, ListFilter } from "holdfast";
import { signal } from "holdfast";
import { isHoldfastError } from "holdfast/adapter";
import { refusal } from "../answers/refusal.ts";
import type { BatchCount, BatchStarted } from "../api/action-messages.ts";
import type { RunFilter } from "../api/list-messages.ts";
import { alternativesOf } from "../filter/filter-query.ts";
import { hasRole } from "../gate/visitor.ts";
import { countRuns } from "../reads/run-search.ts";
import { type Ask, storeNow } from "../reads/scope.ts";
import { optionalNumber, parsedValue, record, text } from "./json-input.ts";
import { requireOpen, whoOf } from "./run-acts.ts";

const COUNT_MAX = 10_000;
const NAMED_MAX = 1_000;
const ACTIONS = ["cancel", "terminate", "pause", "resume", "retry", "signal", "purge"] as const;
/** A batch that has begun goes on without its caller; so long the answer waits for the first sign that it has. */
const BEGUN_LOOK_MS = 50;
const BEGUN_LOOKS = 100;

export async function batchCount({ scope, body }: Ask): Promise<BatchCount> {
  const now = await storeNow(scope);
  const filter = record(record(body)["filter"]) as RunFilter;
  const alternatives = alternativesOf(filter, now).map((one) => ({ ...one, createdBefore: earlier(one, now + 1) }));
  return { ...(await countRuns(scope, alternatives, COUNT_MAX)), createdBefore: now + 1 };
}

function earlier({ createdBefore }: ListFilter, time: number): Date {
  return createdBefore && createdBefore.getTime() < time ? createdBefore : new Date(time);
}

export async function batch(ask: Ask): Promise<BatchStarted> {
  const { scope, body } = ask;
  const asked = record(body);
  const action = ACTIONS.find((one) => one === asked["action"]);
  if (action === undefined) throw refusal(400, "bad_request", `action is one of ${ACTIONS.join(", ")}.`);
  // As on a server: what is deleted cannot be asked about any more.
  if (action === "purge" && !hasRole(scope.visitor, "admin"))
    throw refusal(403, "permission_denied", `This needs the role admin; yours is ${scope.visitor.role}.`);
  const id = text(asked, "id");
  const options: BatchOptions = { id, ...whoOf(ask), ...perSecondOf(asked) };
  if (asked["runIds"] !== undefined) return namedRuns(ask, action, id, asked["runIds"]);
  const first = onlyFilter(asked, await storeNow(scope));
  const until = optionalNumber(asked, "createdBefore");
  const limited = until === undefined ? first : { ...first, createdBefore: earlier(first, until) };
  const many = scope.act.batch(limited);
  const sent = record(asked["signal"] ?? {});
  const carried =
    action === "signal"
      ? many.signal(signal<unknown>(text(sent, "name")), parsedValue(sent["payload"], "payload") as never, options)
      : many[action](options);
  await begun(ask, id, carried);
  return { id };
}

/** One filter, and not by mistake one that every run matches: such a batch must say so, as on a server. */
function onlyFilter(asked: Readonly<Record<string, unknown>>, now: number): ListFilter {
  const { filter, all } = asked;
  if (all !== undefined && typeof all !== "boolean") throw refusal(400, "bad_request", "all is true or false.");
  const [first, ...others] = alternativesOf(record(filter ?? {}) as RunFilter, now);
  if (!first || others.length > 0)
    throw refusal(
      400,
      "bad_filter",
      "A batch takes a filter without OR, and without words that stand alone; a signal is waiting:receive:name.",
    );
  const { attributes = {}, errorText, ...rest } = first;
  if (errorText)
    throw refusal(400, "bad_filter", "A batch cannot go by what errors say. Use their code or their kind (error:…).");
  const isEveryRun = Object.keys(rest).length + Object.keys(attributes).length === 0;
  if (isEveryRun && !all)
    throw refusal(400, "bad_request", "The filter is empty. Set all to true if every run of the namespace is meant.");
  if (!isEveryRun && all) throw refusal(400, "bad_request", "all is set beside a filter: choose one of them.");
  return first;
}

function perSecondOf(asked: Readonly<Record<string, unknown>>): { readonly perSecond?: number } {
  const perSecond = optionalNumber(asked, "perSecond");
  return perSecond === undefined ? {} : { perSecond };
}

/** Resolves when the batch is durable, or is refused. From then on workers, and this process, go on with it. */
async function begun({ scope }: Ask, id: string, carried: Promise<unknown>): Promise<void> {
  let failure: unknown;
  let settled = false;
  const { log, clock } = scope.store;
  void carried
    .then(
      () => {},
      (error: unknown) => {
        failure = error;
        if (!isHoldfastError(error, "client_closed")) log.warn({ batch: id, error: String(error) }, "a batch ended");
      },
    )
    .finally(() => {
      settled = true;
    });
  for (let looks = 0; looks < BEGUN_LOOKS; looks++) {
    if (settled) break;
    const there = await scope.act
      .batchRun(id)
      .status()
      .catch(() => undefined);
    if (there !== undefined) return;
    await new Promise<void>((resolve) => void clock.setTimer(BEGUN_LOOK_MS, resolve));
  }
  if (failure !== undefined) throw failure;
}

/** Runs that were picked one by one: a batch of each, under ids that a repeated click has again. */
async function namedRuns(
  ask: Ask,
  action: (typeof ACTIONS)[number],
  id: string,
  given: unknown,
): Promise<BatchStarted> {
  if (!Array.isArray(given) || given.length === 0 || given.length > NAMED_MAX || !given.every(isText))
    throw refusal(400, "bad_request", `runIds is a list of 1 to ${NAMED_MAX} run ids.`);
  if (action === "purge") throw refusal(400, "bad_request", "Purge by a filter.");
  const { scope, body } = ask;
  const sent = record(record(body)["signal"] ?? {});
  const who = whoOf(ask);
  const skipped: { runId: string; code: string }[] = [];
  for (const runId of new Set<string>(given)) {
    const handle = scope.act.get({ runId });
    try {
      if (action === "signal")
        await handle.signal(signal<unknown>(text(sent, "name")), parsedValue(sent["payload"], "payload") as never, {
          id,
        });
      else {
        if (action === "cancel" || action === "terminate") await requireOpen(handle);
        await handle[action](who);
      }
    } catch (error) {
      if (!isHoldfastError(error)) throw error;
      skipped.push({ runId, code: error.code });
    }
  }
  return { id, done: given.length - skipped.length, skipped };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** The batch itself. */
export function batchAct(name: "pause" | "resume" | "cancel"): (ask: Ask) => Promise<object> {
  return async (ask) => {
    await ask.scope.act.batchRun(ask.parts["id"] as string)[name](whoOf(ask));
    return {};
  };
}
