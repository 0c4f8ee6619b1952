/**
 * The watchdog: looks, every minute or as often as its rules say, for what is wrong in its namespace, and does what the rules say about it. One worker
 * of a namespace keeps watch: of those with rules the one that has been there longest; without any rules the leader of the store, which
 * only reports. Two at once do no harm (W1 in actions.ts).
 *
 * What is found is told once, again after an hour, and once more when it has come right. All of that is kept in memory: whoever takes the
 * watch over tells it again.
 *
 * A store that does not answer cannot say who keeps watch, and whoever kept it may be gone with the store. So the next in line tell it, too,
 * each of them later than the one before, and in a long outage everybody does.
 */
import { writeFaultOf } from "../../calls/answering-store.ts";
import { EarliestTimer } from "../../calls/earliest-timer.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { isTransient } from "../../calls/store-retry.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import { DEAD_WORKER_MS, guardsOf } from "../../model/decisions/watchdog.ts";
import { formatDuration } from "../../model/duration.ts";
import type { Detector, Finding } from "../../model/finding.ts";
import { uuidV7 } from "../../model/ids.ts";
import { systemWebhooks } from "../../system/webhooks.ts";
import { Actions } from "./actions.ts";
import { AlertPost } from "./alert-post.ts";
import { detectBacklogs } from "./detectors/backlog.ts";
import { makeCircleDetector } from "./detectors/circle.ts";
import { detectCrashLoops } from "./detectors/crash-loop.ts";
import type { Detect } from "./detectors/detector.ts";
import { detectStalledRuns } from "./detectors/stalled-run.ts";
import { detectStalledTasks } from "./detectors/stalled-task.ts";
import { detectSlowStore } from "./detectors/store.ts";
import { detectUnserved } from "./detectors/unserved-version.ts";
import { detectSickWorkers } from "./detectors/worker.ts";
import { isToTell, type KnownFinding, KnownFindings } from "./known-findings.ts";
import { Sight, type SightParams } from "./sight.ts";
import { Sightings } from "./sightings.ts";
import type { Alert, ResolvedRule, ResolvedWatchdog } from "./watchdog-options.ts";

/** From when it may look to its first look, if that is sooner than the next one. */
const FIRST_MS = 5_000;
/** So many workers tell that the store is away in their turn: who keeps watch, and the next in line. */
const OUTAGE_TELLERS = 3;
/** All others tell it after so many times the time of the rule: those in line may all be gone. */
const OUTAGE_TURNS_MAX = 10;
/** The key of that finding. */
const AWAY = "away";

export interface WatchdogParams {
  readonly ports: PortsBundle;
  readonly namespace: string;
  readonly storeTime: StoreTime;
  readonly options: ResolvedWatchdog;
  readonly workerId: () => string;
  readonly circlesOf: SightParams["circlesOf"];
}

interface Watched {
  readonly rule: ResolvedRule;
  readonly detect: Detect;
  readonly known: KnownFindings;
}

export class Watchdog {
  readonly #params: WatchdogParams;
  readonly #timer: EarliestTimer;
  readonly #rules: readonly Watched[];
  readonly #actions: Actions;
  readonly #post: AlertPost | undefined;
  readonly #sightings = new Sightings();
  /** Workers that died so long ago do not matter to any rule. */
  readonly #lookedBackMs: number;
  #running = false;
  #leading = false;
  #looking = false;
  /** When it looked last: 0 if it kept watch, 1 if it was the next in line, and so on; undefined if it was not in line. */
  #place: number | undefined;
  /** Since when the store has not answered, by the monotonic clock. */
  #outageSince: number | undefined;

  constructor(params: WatchdogParams) {
    const { ports, options, namespace, storeTime } = params;
    const { clock, random, store, log, telemetry, limits, redact, webhooks = systemWebhooks } = ports;
    this.#params = params;
    this.#lookedBackMs = Math.max(DEAD_WORKER_MS, ...options.rules.map(({ afterMs }) => afterMs ?? 0));
    this.#timer = new EarliestTimer(clock, () => void this.#look(), "passive");
    const newId = (): string => uuidV7(clock.now(), random.bytes(16));
    this.#rules = tellFirst(options.rules).map((rule) => ({
      rule,
      detect: DETECTS[rule.detect](),
      known: new KnownFindings(newId),
    }));
    this.#actions = new Actions({
      store,
      namespace,
      limits,
      judge: {
        record: (error, about) => toErrorRecord(error, redact ? { ...about, redact } : about),
        now: () => storeTime.now(),
        random: () => random.next(),
      },
    });
    this.#post = options.webhook && new AlertPost({ clock, log, telemetry, webhooks }, options.webhook);
  }

  start(): void {
    this.#running = true;
    this.#post?.start();
    this.#expect(FIRST_MS);
  }

  /** Resolves when the alerts that wait are sent, or given up: after a few seconds at most. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#timer.cancel();
    this.#place = undefined;
    this.#forget();
    await this.#post?.stop();
  }

  /** A heartbeat was answered. `leads`: this worker is the leader of the store. */
  told(leads: boolean): void {
    if (leads === this.#leading) return;
    this.#leading = leads;
    this.#expect(FIRST_MS);
  }

  /** Without rules of its own only the leader looks. */
  #expect(delayMs: number): void {
    const { everyMs, standard } = this.#params.options;
    if (this.#running && (this.#leading || !standard)) this.#timer.ringIn(Math.min(delayMs, everyMs));
    else this.#timer.cancel();
  }

  async #look(): Promise<void> {
    if (this.#looking || !this.#running) return;
    this.#looking = true;
    const { ports, options } = this.#params;
    const sentAt = ports.clock.monotonic();
    try {
      await this.#pass(sentAt);
      this.#outageSince = undefined;
    } catch (error) {
      this.#outageSince ??= sentAt;
      if (!isTransient(error) && !(error instanceof NotWritten))
        ports.log.error({ error: String(error) }, "the watchdog could not look; trying again");
      if (this.#running) await this.#tellOutage(error);
    }
    this.#looking = false;
    this.#expect(options.everyMs);
  }

  async #pass(sentAt: number): Promise<void> {
    const { ports, namespace, storeTime, circlesOf } = this.#params;
    const { store } = ports;
    const { now } = await store.readClock();
    storeTime.observe(now, sentAt);
    const fault = writeFaultOf(store);
    // Its own heartbeat is not written either: soon nobody would keep watch.
    if (fault !== undefined) throw new NotWritten(fault);
    const workers = await store.workers.list({ namespace, goneSince: now - this.#lookedBackMs });
    if (!this.#running) return;
    this.#place = this.#placeAmong(guardsOf(workers, now));
    if (this.#place !== 0) {
      this.#tellReturn(now);
      return this.#forget();
    }
    const sight = new Sight({ store, namespace, sightings: this.#sightings, circlesOf }, workers, now);
    for (const watched of this.#rules) {
      const found = await watched.detect(sight, watched.rule);
      if (!this.#running) return;
      await this.#take(watched, found, now);
    }
  }

  #placeAmong(guards: readonly string[]): number | undefined {
    if (this.#params.options.standard) return guards.length === 0 && this.#leading ? 0 : undefined;
    const place = guards.indexOf(this.#params.workerId());
    return place === -1 ? undefined : place;
  }

  /** Another worker keeps watch: what this one knows is old when it takes over again. */
  #forget(): void {
    this.#sightings.clear();
    for (const { known } of this.#rules) known.clear();
  }

  /** Nothing can be read, so only rules about the store have anything to say. */
  async #tellOutage(error: unknown): Promise<void> {
    const { ports, options } = this.#params;
    const { clock } = ports;
    // A leader without rules stands in nobody's line.
    if (options.standard && this.#place === undefined) return;
    const place = this.#place ?? OUTAGE_TELLERS;
    const turns = place < OUTAGE_TELLERS ? place + 1 : OUTAGE_TURNS_MAX;
    const silentMs = clock.monotonic() - (this.#outageSince as number);
    const now = clock.now();
    for (const watched of this.#rules) {
      if (watched.rule.detect !== "store" || silentMs < turns * (watched.rule.afterMs as number)) continue;
      const silent = formatDuration(Math.round(silentMs / 1_000) * 1_000);
      const what = error instanceof NotWritten ? "can be read, but not written," : "has not answered";
      const text = `The store ${what} for ${silent}: ${error instanceof Error ? error.message : error}`;
      await this.#take(watched, [{ detect: "store", key: AWAY, text, since: now - silentMs }], now);
    }
  }

  /** Whoever keeps watch finds it by itself; one of those in line has nothing else to tell. */
  #tellReturn(now: number): void {
    for (const { rule, known } of this.#rules) {
      const away = known.drop(AWAY);
      if (away) this.#resolve(rule, away, now);
    }
  }

  async #take({ rule, known }: Watched, found: readonly Finding[], now: number): Promise<void> {
    const { firing, resolved } = known.update(found, now, rule.detect === "crash_loop" ? (rule.afterMs as number) : 0);
    for (const one of firing) {
      const isNew = one.toldAt === undefined;
      if (isNew) this.#count("watchdog_findings", { detector: rule.detect, action: rule.action });
      const tell = isToTell(one, now);
      if (tell) one.toldAt = now;
      await this.#act(rule, one, tell, now);
    }
    for (const one of resolved) this.#resolve(rule, one, now);
  }

  /** The line in the log comes first: what is done about it follows. */
  async #act(rule: ResolvedRule, one: KnownFinding, tell: boolean, now: number): Promise<void> {
    const { log } = this.#params.ports;
    const { finding } = one;
    const { action, detect, dryRun } = rule;
    const about = { watchdog: detect, action, ...aboutOf(finding) };
    if (dryRun) {
      if (!tell) return;
      log.warn(about, `the watchdog would ${WORDS[action]} (dry run): ${finding.text}`);
      return this.#count("watchdog_actions", { detector: detect, action, outcome: "dry_run" });
    }
    if (tell) log.warn(about, finding.text);
    if (action === "report" || action === "alert") {
      if (!tell) return;
      if (action === "alert") this.#alert(this.#alertOf(one, "firing", now));
      return this.#count("watchdog_actions", { detector: detect, action, outcome: "done" });
    }
    if (one.acted) return;
    const outcome = await this.#actions.act(action, finding).catch((error: unknown) => {
      if (!isTransient(error)) log.error({ ...about, error: String(error) }, "an action of the watchdog failed");
      return "failed" as const;
    });
    // What failed, or came too late for what has moved, is tried again if the next look still finds it.
    one.acted = outcome === "done" || outcome === "given_up";
    this.#count("watchdog_actions", { detector: detect, action, outcome });
    if (outcome === "done") log.warn(about, `the watchdog has ${DONE[action]}`);
    if (outcome === "given_up") log.error(about, "the watchdog restarts a run no more that makes no progress");
  }

  #resolve(rule: ResolvedRule, one: KnownFinding, now: number): void {
    if (one.toldAt === undefined || rule.dryRun) return;
    const { text } = one.finding;
    this.#params.ports.log.info({ watchdog: rule.detect, ...aboutOf(one.finding) }, `it is no longer so: ${text}`);
    if (rule.action === "alert") this.#alert(this.#alertOf(one, "resolved", now));
  }

  #alert(alert: Alert): void {
    const { ports, options } = this.#params;
    this.#post?.push(alert);
    const { onAlert } = options;
    if (!onAlert) return;
    // Neither what it throws nor how long it takes concerns anybody else.
    void Promise.resolve()
      .then(() => onAlert(alert))
      .catch((error: unknown) => ports.log.error({ error: String(error) }, "onAlert of the watchdog failed"));
  }

  #alertOf({ id, finding }: KnownFinding, state: Alert["state"], now: number): Alert {
    const { detect, text, since, run, task, workflow, version, queue, worker, circle } = finding;
    return {
      id,
      state,
      detect,
      namespace: this.#params.namespace,
      text,
      since: new Date(since),
      at: new Date(now),
      ...(run ? { run: { id: run.id, runId: run.runId, workflow: run.workflow } } : {}),
      ...(task ? { op: task.op } : {}),
      ...(workflow === undefined ? {} : { workflow }),
      ...(version === undefined ? {} : { version }),
      ...(queue === undefined ? {} : { queue }),
      ...(worker === undefined ? {} : { worker }),
      ...(circle ? { circle } : {}),
    };
  }

  #count(metric: "watchdog_findings" | "watchdog_actions", labels: Readonly<Record<string, string>>): void {
    this.#params.ports.telemetry?.count(metric, 1, labels);
  }
}

/** The store answers, and takes nothing. */
class NotWritten extends Error {}

/** Whoever is to be told hears of it before another rule has put an end to it. */
function tellFirst(rules: readonly ResolvedRule[]): readonly ResolvedRule[] {
  const tells = ({ action }: ResolvedRule): boolean => action === "report" || action === "alert";
  return [...rules.filter(tells), ...rules.filter((rule) => !tells(rule))];
}

/** Circles are looked for over several looks; the others keep nothing. */
const DETECTS: Readonly<Record<Detector, () => Detect>> = {
  stalled_run: () => detectStalledRuns,
  stalled_task: () => detectStalledTasks,
  circle: makeCircleDetector,
  worker: () => detectSickWorkers,
  store: () => detectSlowStore,
  backlog: () => detectBacklogs,
  crash_loop: () => detectCrashLoops,
  unserved_version: () => detectUnserved,
};

const WORDS = {
  report: "report",
  alert: "alert",
  timeout_task: "end the attempt",
  cancel: "cancel the run",
  restart: "restart the run",
};
const DONE = { timeout_task: "ended the attempt", cancel: "canceled the run", restart: "restarted the run" };

function aboutOf({ run, task, queue, worker }: Finding): Readonly<Record<string, string>> {
  return {
    ...(run ? { id: run.id, runId: run.runId, workflow: run.workflow } : {}),
    ...(task ? { op: task.op } : {}),
    ...(queue === undefined ? {} : { queue }),
    ...(worker === undefined ? {} : { worker }),
  };
}
