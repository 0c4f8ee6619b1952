/**
 * Posts alerts to a webhook, one after the other, beside everything else: a webhook that hangs delays other alerts, and nothing but those.
 * An alert whose post fails is posted again, a few times. When the worker stops, what waits is posted once more, at once, within a few
 * seconds; what stays unsent then is logged, and found and alerted again by whoever takes the watch over, if anybody does. So a receiver may
 * get an alert more than once.
 */
import { createHmac } from "node:crypto";
import { limitedWait } from "../../calls/limited-wait.ts";
import { shownUrl } from "../../errors/shown-url.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Webhooks } from "../../ports/webhooks.ts";
import type { Alert, WebhookOptions } from "./watchdog-options.ts";

/** How long one post may take. */
export const POST_MS = 10_000;
/** How often an alert is posted at most, and how long to wait after the first failure: twice as long after each other one. */
export const POSTS_MAX = 5;
const PAUSE_MS = 1_000;
/** A worker that stops waits no longer than that for its alerts to be sent. */
export const LAST_POSTS_MS = 3_000;
/** So many alerts wait at most; those that come then are dropped, and logged. */
export const WAITING_MAX = 100;

export interface AlertPostParams {
  readonly clock: Clock;
  readonly log: Logger;
  readonly telemetry?: Telemetry | undefined;
  readonly webhooks: Webhooks;
}

export class AlertPost {
  readonly #params: AlertPostParams;
  readonly #webhook: WebhookOptions;
  readonly #waiting: Alert[] = [];
  /** `leaving`: nothing is posted twice any more. `left`: nothing is posted. */
  #state: "open" | "leaving" | "left" = "open";
  /** Settles when nothing waits any more, or it was cut short. */
  #posting: Promise<void> | undefined;
  #cut = new AbortController();
  /** Ends the pause before the next post of the same alert. */
  #hurry: (() => void) | undefined;

  constructor(params: AlertPostParams, webhook: WebhookOptions) {
    this.#params = params;
    this.#webhook = webhook;
  }

  start(): void {
    this.#state = "open";
    if (this.#cut.signal.aborted) this.#cut = new AbortController();
  }

  push(alert: Alert): void {
    if (this.#state === "left") return this.#drop(alert);
    if (this.#waiting.length >= WAITING_MAX) {
      this.#params.log.warn({ alert: alert.text }, "an alert is dropped: too many wait for the webhook");
      this.#count("dropped");
      return;
    }
    this.#waiting.push(alert);
    this.#posting ??= this.#postAll(this.#cut.signal);
  }

  /** Sends what waits, each once more, for a few seconds at most; what is not sent then is logged. */
  async stop(): Promise<void> {
    if (this.#state !== "open") return;
    this.#state = "leaving";
    this.#hurry?.();
    if (this.#posting !== undefined) await limitedWait(this.#params.clock, this.#posting, LAST_POSTS_MS).over;
    this.#state = "left";
    for (const alert of this.#waiting.splice(0)) this.#drop(alert);
    this.#cut.abort();
  }

  #drop({ text, state }: Alert): void {
    const about = { webhook: shownUrl(this.#webhook.url), alert: text, state };
    this.#params.log.warn(about, "an alert was not sent: the worker stops");
    this.#count("dropped");
  }

  async #postAll(cut: AbortSignal): Promise<void> {
    for (let alert = this.#waiting[0]; alert && !cut.aborted; alert = this.#waiting[0]) {
      const outcome = await this.#post(alert, cut);
      if (outcome === undefined) break;
      this.#waiting.shift();
      this.#count(outcome);
    }
    this.#posting = undefined;
  }

  /** Undefined if it was cut short. */
  async #post(alert: Alert, cut: AbortSignal): Promise<"sent" | "failed" | undefined> {
    const { log } = this.#params;
    const { url } = this.#webhook;
    for (let posts = 1; ; posts++) {
      const last = this.#state === "leaving";
      const fault = await this.#try(alert, cut);
      if (cut.aborted) return undefined;
      if (fault === undefined) return "sent";
      const about = { webhook: shownUrl(url), alert: alert.text, error: fault.text };
      if (fault.final || last || posts >= POSTS_MAX) {
        log.error({ ...about, posts }, "an alert could not be sent");
        return "failed";
      }
      log.warn(about, "an alert was not sent; trying again");
      if (!this.#isLeaving()) await this.#pause(PAUSE_MS * 2 ** (posts - 1));
    }
  }

  /** What went wrong; undefined if nothing has. `final`: another post would change nothing. */
  async #try(alert: Alert, cut: AbortSignal): Promise<{ readonly text: string; readonly final: boolean } | undefined> {
    const { clock, webhooks } = this.#params;
    const { url, secret } = this.#webhook;
    const body = JSON.stringify(alert);
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    const headers = { "content-type": "application/json", "x-holdfast-signature": `sha256=${signature}` };
    const limit = new AbortController();
    const timer = passive(clock.setTimer(POST_MS, () => limit.abort(new Error(`no answer within ${POST_MS} ms`))));
    const cutShort = (): void => limit.abort(cut.reason);
    cut.addEventListener("abort", cutShort);
    try {
      const over = new Promise<never>((_, reject) => {
        limit.signal.addEventListener("abort", () => reject(limit.signal.reason));
      });
      // Also if whoever posts does not look at the signal.
      const answer = webhooks.post({ url, headers, body, signal: limit.signal });
      const { status } = await Promise.race([answer, over]);
      if (status >= 200 && status < 300) return undefined;
      if (status >= 300 && status < 400)
        return { text: `it redirects (${status}), which is not followed`, final: true };
      return { text: `it answered ${status}`, final: status < 500 && status !== 408 && status !== 429 };
    } catch (error) {
      return { text: textOf(error), final: false };
    } finally {
      timer.cancel();
      cut.removeEventListener("abort", cutShort);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = passive(this.#params.clock.setTimer(ms, resolve));
      this.#hurry = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  #isLeaving(): boolean {
    return this.#state === "leaving";
  }

  #count(outcome: string): void {
    this.#params.telemetry?.count("alerts", 1, { outcome });
  }
}

/** With its cause: "fetch failed" alone does not say why. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  // Several addresses were tried: each has an error of its own.
  const inner = cause instanceof AggregateError && cause.message === "" ? cause.errors[0] : cause;
  const why = inner instanceof Error ? inner.message : String(inner);
  return why === "" || error.message.includes(why) ? error.message : `${error.message}: ${why}`;
}

function passive(timer: Timer): Timer {
  timer.unref?.();
  timer.follow?.();
  return timer;
}
