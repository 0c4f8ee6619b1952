import type { Alert, WatchdogOptions, WatchdogRule, Worker } from "holdfast";
import { task, workflow } from "holdfast";
import type { Client } from "../../src/client/client.ts";
import { type Fleet, openFleet } from "../lab/fleet.ts";
import { Gate, NEVER } from "../lab/harness.ts";

/** A run whose only step lasts until the gate opens; every execution is noted. */
export function stuck(name = "stuck") {
  const gate = new Gate();
  const executions: AbortSignal[] = [];
  const definition = workflow(name, (ctx) =>
    ctx.step("wait", ({ signal }) => {
      executions.push(signal);
      return gate.opened;
    }),
  );
  return { gate, executions, definition };
}

/** A task whose first attempts last forever, and whose other ones end at once. */
export function stuckTask(stuckAttempts = 1) {
  const attempts: number[] = [];
  const send = task("send", async (_input: undefined, { attempt }) => {
    attempts.push(attempt);
    if (attempts.length <= stuckAttempts) await NEVER;
    return "sent";
  });
  const mails = workflow("mails", (ctx) => ctx.task(send, undefined));
  return { attempts, send, mails };
}

export interface Watched {
  readonly fleet: Fleet;
  readonly alerts: Alert[];
  readonly client: Client;
  /** The worker that keeps watch; it executes nothing. */
  readonly watcher: Worker;
  /** `metric detector action outcome`, as often as counted. */
  readonly counted: string[];
  /** What alerts were told, without the repeated ones. */
  readonly told: () => string[];
}

/** A fleet in which a worker of its own keeps watch, with these rules; alerts of all of them come to `alerts`. */
export async function watched(
  rules: readonly WatchdogRule[],
  more: Partial<WatchdogOptions> = {},
  fleet = openFleet(),
): Promise<Watched> {
  const alerts: Alert[] = [];
  const counted: string[] = [];
  const telemetry = {
    count: (metric: string, _times: number, labels: Readonly<Record<string, string>>) => {
      if (/watchdog|alerts/.test(metric)) counted.push([metric, ...Object.values(labels)].join(" "));
    },
    duration: () => {},
  };
  const watchdog = { every: "10s", rules, onAlert: (alert: Alert) => void alerts.push(alert), ...more } as const;
  const watcher = await fleet.worker({ name: "watcher", watchdog }, { telemetry });
  const told = (): string[] => alerts.map(({ state, detect }) => `${state} ${detect}`);
  return { fleet, alerts, counted, client: fleet.client(), watcher, told };
}
