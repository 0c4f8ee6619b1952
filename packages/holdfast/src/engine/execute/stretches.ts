import type { ErrorRecord } from "../../model/error-record.ts";
import type { Run } from "../../model/run.ts";
import { traceOf } from "../../model/run-seed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Span, SpanAbout, Telemetry } from "../../ports/telemetry.ts";
import type { Leaving } from "./held-run.ts";

interface Stretch {
  readonly workflow: string;
  readonly span: Span | undefined;
  /** The trace contexts of signals that it was told of: turns that are taken back receive them again. */
  readonly received: Set<string>;
  /** Since when its history has been read and replayed; undefined if it has not, or no longer is. */
  replayingSince: number | undefined;
}

/** What telemetry is told of the runs on a worker, from when each comes until it leaves. Only exists if there is telemetry. */
export class Stretches {
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #open = new Map<string, Stretch>();

  readonly #worker: string;

  constructor(clock: Clock, telemetry: Telemetry, worker: string) {
    this.#worker = worker;
    this.#clock = clock;
    this.#telemetry = telemetry;
  }

  begin(run: Run, replayingSince?: number): void {
    const { runId, workflow, queue, deaths } = run;
    const where = { queue, worker: this.#worker, ...(deaths > 0 ? { deaths } : {}) };
    const span = this.#telemetry.span?.({ kind: "run", ...where, ...aboutRun(run) });
    if (span || replayingSince !== undefined)
      this.#open.set(runId, { workflow, span, received: new Set(), replayingSince });
  }

  /** The run is where it was before. */
  replayed(runId: string): void {
    const stretch = this.#open.get(runId);
    if (stretch?.replayingSince === undefined) return;
    const ms = this.#clock.monotonic() - stretch.replayingSince;
    stretch.replayingSince = undefined;
    this.#telemetry.duration("replay", ms, { workflow: stretch.workflow });
  }

  /** The run has received a signal that was sent in this trace context. */
  received(runId: string, signal: string, trace: string): void {
    const stretch = this.#open.get(runId);
    if (!stretch?.span || stretch.received.has(trace)) return;
    stretch.received.add(trace);
    stretch.span.received?.(signal, trace);
  }

  /** An attempt of a step begins. */
  step(run: Run, op: string, attempt: number): Span | undefined {
    if (!this.#telemetry.span) return undefined;
    const about: SpanAbout = { kind: "step", ...aboutRun(run), op, attempt };
    const whole = this.#open.get(run.runId)?.span;
    return whole?.part ? whole.part(about) : this.#telemetry.span(about);
  }

  end(runId: string, leaving: Leaving): void {
    const span = this.#open.get(runId)?.span;
    this.#open.delete(runId);
    span?.end(outcomeOf(leaving), errorOf(leaving));
  }
}

function aboutRun({ namespace, runId, id, workflow, version, seed }: Run): Omit<SpanAbout, "kind"> {
  const trace = traceOf(seed);
  return { namespace, runId, id, workflow, version, ...(trace === undefined ? {} : { trace }) };
}

function outcomeOf(leaving: Leaving): string {
  if (leaving.how !== "closed") return leaving.how;
  const { transition } = leaving;
  if (transition.type === "end") return transition.status;
  return transition.type === "park" ? "parked" : "continued";
}

function errorOf(leaving: Leaving): ErrorRecord | undefined {
  if (leaving.how !== "closed") return undefined;
  const { transition } = leaving;
  if (transition.type === "park") return transition.paused ? undefined : transition.error;
  return transition.type === "end" ? (transition.error ?? undefined) : undefined;
}
