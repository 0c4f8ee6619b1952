import type { HistoryEvent } from "../../model/event.ts";
import type { Payload } from "../../model/payload.ts";
import type { TaskSpec } from "../../model/task.ts";

/** One task of a run, and where it stands according to history. */
export class TaskWork {
  /** What was scheduled: as recorded, whatever the code says now. */
  spec: TaskSpec;
  /** Its input, for the event that schedules it. */
  readonly input: () => Payload;
  /** The event that made the task exist: with the run, its key. 0 before it is scheduled. */
  seq = 0;
  /** The one before, if the task was rescheduled. */
  formerSeq = 0;
  /** The event with its input, and that input. */
  inputSeq = 0;
  recordedInput: Payload | null = null;
  /** The task does not exist: the run was retried since, or a lock had to be regained first. It must be scheduled again. */
  lost = false;
  /** Not before then; undefined: at once. */
  retryAt: number | undefined = undefined;
  /** The run is being wound up: the task is canceled, and its outcome recorded. */
  closing = false;

  constructor(spec: TaskSpec, input: () => Payload) {
    this.spec = spec;
    this.input = input;
  }

  scheduled({ seq, payload, meta }: HistoryEvent): void {
    this.seq = seq;
    this.inputSeq = seq;
    this.recordedInput = payload ?? null;
    this.spec = meta?.task ?? this.spec;
    if (meta?.later) this.lose();
  }

  rescheduled(seq: number): void {
    this.formerSeq = this.seq;
    this.seq = seq;
    this.lost = false;
  }

  /** Its input is needed no more. */
  done(): void {
    this.recordedInput = null;
  }

  lose(retryAt?: number): void {
    this.lost = true;
    this.retryAt = retryAt;
  }

  close(): void {
    this.closing = true;
  }
}
