import type { PortsBundle } from "../calls/ports-bundle.ts";
import type { MemoryStore } from "../memory/store.ts";
import type { EventType } from "../model/event.ts";
import type { MessageKind } from "../model/message.ts";
import type { MortalLife } from "./mortal.ts";
import type { VirtualClock } from "./virtual-clock.ts";

interface Called {
  readonly runId: string;
  readonly op: string;
  readonly attempt: number;
  /** What shows that its result is in the store. */
  readonly recordedBy: { readonly event: EventType; readonly message: MessageKind };
}

const STEP = { event: "step_completed", message: "outcome" } as const;
const TASK = { event: "task_completed", message: "task_completed" } as const;

/** Which functions of steps and tasks were executed, and whether they should have been. */
export class StepLog {
  /** Ops whose function was executed although their result was in the store. */
  readonly rerun: string[] = [];
  /** Ops of which an attempt was executed again because it was not recorded. */
  readonly repeated: string[] = [];
  readonly #store: MemoryStore;
  readonly #clock: VirtualClock;
  /** What was recorded about an attempt when its function was called. */
  readonly #called = new Map<string, number>();
  /** What was cut off by the death of its worker never ends: time must not wait for it. */
  readonly #mortal: (() => void)[] = [];

  constructor(store: MemoryStore, clock: VirtualClock) {
    this.#store = store;
    this.#clock = clock;
  }

  cutOff(): void {
    for (const release of this.#mortal) release();
  }

  /** For the ports of a process that lives that long. */
  of(life: MortalLife | undefined): Required<Pick<PortsBundle, "steps" | "tasks">> {
    return {
      steps: {
        around: ({ runId, op, attempt }, run) => this.#around({ runId, op, attempt, recordedBy: STEP }, life, run),
      },
      tasks: {
        around: ({ runId, op, attempt }, _input, _info, run) =>
          this.#around({ runId, op, attempt, recordedBy: TASK }, life, run),
      },
    };
  }

  async #around(called: Called, life: MortalLife | undefined, run: () => unknown): Promise<unknown> {
    if (life?.dead) return new Promise<never>(() => {});
    this.#note(called);
    const release = this.#clock.hold();
    if (life) this.#mortal.push(release);
    try {
      const value = await run();
      return life?.dead ? new Promise<never>(() => {}) : value;
    } finally {
      release();
    }
  }

  #note({ runId, op, attempt, recordedBy }: Called): void {
    const events = this.#store.state.events.get(runId) ?? [];
    const inbox = this.#store.state.inbox.get(runId) ?? [];
    const recorded =
      events.some((event) => event.op === op && event.type === recordedBy.event) ||
      inbox.some((message) => message.kind === recordedBy.message && message.name === op);
    if (recorded) this.rerun.push(op);
    // A retry of the run clears what failed, and counts its attempts from one again.
    const records = events.filter(
      ({ op: of, type }) => type === "run_retried" || (of === op && type !== "step_started"),
    );
    const key = `${runId} ${op} ${attempt}`;
    if (this.#called.get(key) === records.length) this.repeated.push(op);
    this.#called.set(key, records.length);
  }
}
