import { DEFAULT_OPTIONS, type ResolvedStepOptions, type StepInfo } from "../ops/step-options.ts";
import { StepWork } from "../ops/step-work.ts";

/** An attempt that a guest executes, or is about to. */
interface RunningAttempt {
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly complete: (value: unknown) => void;
  readonly fail: (error: unknown) => void;
}

/** What a guest has said about an attempt. */
interface Report {
  readonly attempt: number;
  readonly how: "completed" | "failed";
}

/** A step whose function is a guest: it starts when the driver says so, and ends when the guest reports. */
export class GuestWork extends StepWork {
  /** The guest names them each time it asks; until then, those of a step that names none. */
  declare options: ResolvedStepOptions;
  /** Whether the driver has it: a step of an earlier hold waits until a guest asks for it again. */
  handed = false;
  /** Whether a guest has asked for the attempt that runs, or is to run next. */
  wanted = false;
  running: RunningAttempt | undefined = undefined;
  reported: Report | undefined = undefined;
  /** The attempt was given up before the guest has said how it ended: it took too long, or nobody wants it. */
  cut = false;
  /** The event that recorded the last failed attempt. */
  failedSeq = 0;

  constructor(started: () => void) {
    const execute = (info: StepInfo): Promise<unknown> =>
      new Promise((complete, fail) => {
        const running = { attempt: info.attempt, idempotencyKey: info.idempotencyKey, complete, fail };
        this.running = running;
        info.signal.addEventListener("abort", () => this.#cutShort(running));
        started();
      });
    super(execute, DEFAULT_OPTIONS);
  }

  override get withheld(): boolean {
    return !this.wanted;
  }

  #cutShort(running: RunningAttempt): void {
    if (this.running !== running) return;
    this.running = undefined;
    this.cut = true;
  }

  /** Whether the attempt that is meant is in progress; 0 means whichever is. */
  runs(attempt: number): boolean {
    return this.running !== undefined && (attempt === 0 || attempt === this.running.attempt);
  }

  /** Whether the guest has said so before: the call is a repeated one. */
  wasReported(attempt: number, how: Report["how"]): boolean {
    return this.reported?.how === how && (attempt === 0 || attempt === this.reported.attempt);
  }

  report(how: Report["how"], outcome: unknown): void {
    const { running } = this;
    if (!running) return;
    this.running = undefined;
    this.reported = { attempt: running.attempt, how };
    if (how === "completed") running.complete(outcome);
    else running.fail(outcome);
  }
}
