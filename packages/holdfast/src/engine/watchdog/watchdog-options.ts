import {
  checkOptions,
  invalidOption,
  isBoolean,
  isDuration,
  isFunction,
  isName,
  isPlainObject,
  listOf,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  optionsOf,
  requireDuration,
} from "../../errors/option-checks.ts";
import { shownValue } from "../../errors/shown-value.ts";
import type { CheckedDuration } from "../../model/checked-duration.ts";
import { DETECTORS, type Detector, WATCHDOG_ACTIONS, type WatchdogAction } from "../../model/finding.ts";

/** Something that is wrong, or that has come right again, as `onAlert` and the webhook are told. */
export interface Alert {
  /** The same for everything that is said about one finding. */
  readonly id: string;
  /** `resolved`: it was found before, and is not any longer. */
  readonly state: "firing" | "resolved";
  readonly detect: Detector;
  readonly namespace: string;
  /** For the person on call. */
  readonly text: string;
  readonly since: Date;
  readonly at: Date;
  /** The run that it is about: its id, its run id and its workflow. */
  readonly run?: { readonly id: string; readonly runId: string; readonly workflow: string };
  /** The op of the task that it is about. */
  readonly op?: string;
  readonly workflow?: string;
  readonly version?: string;
  readonly queue?: string;
  /** The name of the worker that it is about. */
  readonly worker?: string;
  /** The ids of runs that wait for each other. */
  readonly circle?: readonly string[];
}

/** What to look for, and what to do about it. */
export interface WatchdogRule<S extends string = string> {
  /** What to look for. */
  readonly detect: Detector;
  /**
   * For how long it must have been so.
   * @defaultValue by detector: 30 minutes for `stalled_run` and `stalled_task`, 5 minutes for `circle` and `backlog`, half its lease for `worker`,
   * 30 s for `store`, 10 minutes for `crash_loop`, 1 minute for `unserved_version`
   */
  readonly after?: CheckedDuration<S>;
  /**
   * What to do. `report`: a line in the log. `alert`: `onAlert` and the webhook, and the line. `timeout_task`: ends the attempt of a task, as
   * its timeout would. `cancel`: cancels the run. `restart`: takes the run from its worker, for another one.
   */
  readonly action: WatchdogAction;
  /**
   * Only what concerns runs of this workflow.
   * @defaultValue all
   */
  readonly workflow?: string;
  /**
   * Only says, in the log, what it would do.
   * @defaultValue `false`
   */
  readonly dryRun?: boolean;
}

/** Where alerts are posted. */
export interface WebhookOptions {
  /** An `http:` or `https:` URL. */
  readonly url: string;
  /** The key of the signature in `x-holdfast-signature`: `sha256=` and the HMAC of the body, in hexadecimal digits. */
  readonly secret: string;
}

/** Options of the watchdog of a worker. */
export interface WatchdogOptions<S extends string = string> {
  /**
   * How often it looks; at least 1 s.
   * @defaultValue `"1m"`
   */
  readonly every?: CheckedDuration<S>;
  /** What to look for, and what to do about it. */
  readonly rules: readonly WatchdogRule<S>[];
  /**
   * Gets the alerts of rules whose action is `alert`.
   * @defaultValue nobody
   */
  readonly onAlert?: (alert: Alert) => void | Promise<void>;
  /**
   * Where the same alerts are posted, as JSON.
   * @defaultValue nowhere
   */
  readonly webhook?: WebhookOptions;
}

export interface ResolvedRule {
  readonly detect: Detector;
  /** Null: it depends on what is found. */
  readonly afterMs: number | null;
  readonly action: WatchdogAction;
  readonly workflow?: string;
  readonly dryRun: boolean;
}

export interface ResolvedWatchdog {
  readonly everyMs: number;
  readonly rules: readonly ResolvedRule[];
  readonly onAlert?: (alert: Alert) => void | Promise<void>;
  readonly webhook?: WebhookOptions;
  /** The user has said nothing: only a leader looks, and only where nobody has rules. */
  readonly standard: boolean;
}

const EVERY_MS = 60_000;
const EVERY_MS_MIN = 1_000;
const MINUTE_MS = 60_000;
const AFTER_MS: Readonly<Record<Detector, number | null>> = {
  stalled_run: 30 * MINUTE_MS,
  stalled_task: 30 * MINUTE_MS,
  circle: 5 * MINUTE_MS,
  worker: null,
  store: 30_000,
  backlog: 5 * MINUTE_MS,
  crash_loop: 10 * MINUTE_MS,
  unserved_version: MINUTE_MS,
};

/** What each action can be done about; the others about everything. */
const ABOUT: Readonly<Partial<Record<WatchdogAction, readonly Detector[]>>> = {
  timeout_task: ["stalled_task"],
  cancel: ["stalled_run", "stalled_task", "circle"],
  restart: ["stalled_run"],
};
const WITHOUT_WORKFLOW: readonly Detector[] = ["worker", "store"];

/** Cheap, and without effect: what two reads show. */
const STANDARD: ResolvedWatchdog = {
  everyMs: EVERY_MS,
  rules: (["worker", "store", "backlog", "crash_loop", "unserved_version"] as const).map((detect) => ({
    detect,
    afterMs: AFTER_MS[detect],
    action: "report",
    dryRun: false,
  })),
  standard: true,
};

const RULE_OPTIONS: OptionChecks<WatchdogRule> = {
  detect: oneOf(...DETECTORS),
  after: isDuration,
  action: oneOf(...WATCHDOG_ACTIONS),
  workflow: isName("workflow name"),
  dryRun: isBoolean,
};

const isRule: OptionCheck = (value, where, option) => {
  if (!isPlainObject(value)) throw invalidOption(where, option, `is ${shownValue(value)}, not an object`);
  checkOptions(value, RULE_OPTIONS, where, `${option}.`);
  const { detect, action, workflow } = value as Partial<WatchdogRule>;
  if (detect === undefined) throw invalidOption(where, `${option}.detect`, "is missing");
  if (action === undefined) throw invalidOption(where, `${option}.action`, "is missing");
  const about = ABOUT[action];
  if (about && !about.includes(detect))
    throw invalidOption(where, `${option}.action`, `is "${action}", which goes with ${about.join(", ")} only`);
  if (workflow !== undefined && WITHOUT_WORKFLOW.includes(detect))
    throw invalidOption(where, `${option}.workflow`, `is given, but a ${detect} belongs to no workflow`);
};

const isUrl: OptionCheck = (value, where, option) => {
  const protocol = typeof value === "string" && URL.canParse(value) ? new URL(value).protocol : undefined;
  // Of what is no URL nothing is shown: it may have a password anywhere.
  if (protocol !== "http:" && protocol !== "https:")
    throw invalidOption(where, option, "is not an http: or https: URL");
};

const isSecret: OptionCheck = (value, where, option) => {
  if (typeof value !== "string" || value === "") throw invalidOption(where, option, "is not a text, or empty");
};

const WATCHDOG_OPTIONS: OptionChecks<WatchdogOptions> = {
  every: isDuration,
  rules: listOf(isRule),
  onAlert: isFunction,
  webhook: (value, where, option) => {
    optionsOf<WebhookOptions>({ url: isUrl, secret: isSecret })(value, where, option);
    for (const key of ["url", "secret"] as const)
      if ((value as Partial<WebhookOptions>)[key] === undefined)
        throw invalidOption(where, `${option}.${key}`, "is missing");
  },
};

export const isWatchdog: OptionCheck = (value, where, option) => {
  if (value === false) return;
  if (!isPlainObject(value)) throw invalidOption(where, option, `is ${shownValue(value)}, not false or an object`);
  checkOptions(value, WATCHDOG_OPTIONS, where, `${option}.`);
  const { every, rules, onAlert, webhook } = value as Partial<WatchdogOptions>;
  if (rules === undefined) throw invalidOption(where, `${option}.rules`, "is missing");
  if (every !== undefined && requireDuration(every, where, `${option}.every`) < EVERY_MS_MIN)
    throw invalidOption(where, `${option}.every`, "is shorter than 1 s");
  const alerting = rules.findIndex(({ action }) => action === "alert");
  if (alerting >= 0 && onAlert === undefined && webhook === undefined) {
    const fault = `is "alert", but there is neither ${option}.onAlert nor ${option}.webhook`;
    throw invalidOption(where, `${option}.rules[${alerting}].action`, fault);
  }
};

/** Undefined: no watchdog. `left out`: the standard one, where there is one. */
export function resolveWatchdog(
  given: WatchdogOptions | false | undefined,
  standard: boolean,
): ResolvedWatchdog | undefined {
  if (given === undefined) return standard ? STANDARD : undefined;
  if (given === false || given.rules.length === 0) return undefined;
  const { every, rules, onAlert, webhook } = given;
  return {
    everyMs: every === undefined ? EVERY_MS : requireDuration(every, "worker", "watchdog.every"),
    rules: rules.map((rule, i) => resolveRule(rule, `watchdog.rules[${i}].after`)),
    ...(onAlert ? { onAlert } : {}),
    ...(webhook ? { webhook } : {}),
    standard: false,
  };
}

function resolveRule({ detect, after, action, workflow, dryRun }: WatchdogRule, option: string): ResolvedRule {
  return {
    detect,
    afterMs: after === undefined ? AFTER_MS[detect] : requireDuration(after, "worker", option),
    action,
    ...(workflow === undefined ? {} : { workflow }),
    dryRun: dryRun ?? false,
  };
}
