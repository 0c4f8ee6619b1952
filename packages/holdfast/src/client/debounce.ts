import { HoldfastError } from "../errors/holdfast-error.ts";
import { invalidOption, requireDuration } from "../errors/option-checks.ts";
import type { NewRun } from "../model/run.ts";
import type { DebounceParams, StartOutcome } from "../ports/store.ts";
import type { ClientCore } from "./client-core.ts";
import type { DebounceOptions, StartOptions } from "./client-options.ts";
import { requireRoom, startOf } from "./new-run.ts";

type Debounced = StartOptions & { readonly debounce: DebounceOptions };

/** What decides about a run in another way. */
const EXCLUDED = ["id", "startAt", "delay", "ifRunning", "ifClosed"] as const;

/** Starts the run, or changes the one that waits for its key. Undefined, without a promise, if the options do not ask for that. */
export function debounced(core: ClientCore, run: NewRun, options: StartOptions): Promise<StartOutcome> | undefined {
  const { debounce } = options;
  return debounce && start(core, run, { ...options, debounce });
}

async function start(core: ClientCore, run: NewRun, options: Debounced): Promise<StartOutcome> {
  const params = paramsOf(core, run, options);
  return requireRoom(run, await core.untilNotBusy((store) => store.runs.debounce(params)));
}

function paramsOf(core: ClientCore, run: NewRun, options: Debounced): DebounceParams {
  const where = `start of workflow "${run.workflow}"`;
  const { debounce } = options;
  const other = EXCLUDED.find((option) => options[option] !== undefined);
  if (other)
    throw invalidOption(where, "debounce", `does not go with ${other}: the key decides which run it is, and when`);
  if (run.key === undefined)
    throw new HoldfastError("invalid_option", `${where}: debounce needs a key. Pass one, or give the workflow a key.`, {
      data: { where, option: "key" },
    });
  if (debounce.for === undefined) throw invalidOption(where, "debounce.for", "is missing");
  const forMs = requireDuration(debounce.for, where, "debounce.for");
  const maxMs = debounce.max === undefined ? null : requireDuration(debounce.max, where, "debounce.max");
  if (maxMs !== null && maxMs < forMs) throw invalidOption(where, "debounce.max", "is shorter than debounce.for");
  return { start: startOf(core, run, options, false, undefined), key: run.key, forMs, maxMs };
}
