import fc from "fast-check";
import type { LiveRun, Script } from "./live-run.ts";
import { SIGNALS, type SignalName } from "./program.ts";

/** One decision of the world around a run. `pick` chooses among whatever is possible at that moment. */
export type Move =
  /** A step's function ends, as it is written; or nothing is heard of it any more since its worker has died. */
  | { readonly type: "finish" | "cut off" | "start"; readonly pick: number; readonly together: boolean }
  /** To the next timer and `extraMs` beyond it, or just by `extraMs`; by less than nothing when a clock is set back. */
  | { readonly type: "time"; readonly toTimer: boolean; readonly extraMs: number; readonly together: boolean }
  | { readonly type: "signal"; readonly name: SignalName; readonly payload: number | null; readonly together: boolean }
  | { readonly type: "cancel" | "deadline"; readonly together: boolean };

/** What the world does, and whether it sees the run through to its end when the moves are used up. */
export interface Plan {
  readonly moves: readonly Move[];
  readonly toTheEnd: boolean;
}

/** So many things happen at most after the moves are used up. */
const ACTIONS_AFTER_MOVES_MAX = 60;

/** `together` moves are queued along with the next one: two things that happen in one tick. */
const together = fc.nat(3).map((n) => n === 0);
const pick = fc.nat(7);

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ type: fc.constant("finish" as const), pick, together }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("start" as const), pick, together }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("cut off" as const), pick, together }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("time" as const),
      toTimer: fc.boolean(),
      extraMs: fc.constantFrom(0, 1, 400, -300),
      together,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("signal" as const),
      name: fc.constantFrom(...SIGNALS),
      payload: fc.constantFrom(null, 1, 2, 3),
      together,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom("cancel" as const, "deadline" as const), together }) },
);

export const plans: fc.Arbitrary<Plan> = fc.record({
  moves: fc.array(move, { maxLength: 16 }),
  toTheEnd: fc.nat(4).map((n) => n > 0),
});

/** Plays the moves of a plan from a position on. Whatever it does depends only on the position and on the machine. */
export class PlanScript implements Script {
  position: number;
  readonly #plan: Plan;

  constructor(plan: Plan, position = 0) {
    this.#plan = plan;
    this.position = position;
  }

  next(run: LiveRun): boolean {
    const { moves, toTheEnd } = this.#plan;
    let queued = false;
    while (this.position < moves.length) {
      const current = moves[this.position++] as Move;
      queued = perform(run, current) || queued;
      if (queued && !current.together) return true;
    }
    if (queued) return true;
    if (!toTheEnd || run.machine.outcome || this.position >= moves.length + ACTIONS_AFTER_MOVES_MAX) return false;
    this.position += 1;
    return performNext(run);
  }
}

/** False when the move is not possible now. */
function perform(run: LiveRun, current: Move): boolean {
  const { machine } = run;
  switch (current.type) {
    case "finish":
    case "start":
    case "cut off": {
      const steps = run.steps();
      const op = steps[current.pick % steps.length];
      if (!op || machine.outcome) return false;
      run.now += current.pick % 3;
      if (current.type === "start") return run.noteStart(op);
      if (current.type === "cut off") return run.cutOff(op);
      run.execute(op);
      return true;
    }
    case "time": {
      const timerAt = current.toTimer ? run.nextTimerAt() : run.now;
      if (timerAt === undefined) return false;
      run.advanceTo(timerAt + Math.max(0, current.extraMs));
      run.now += Math.min(0, current.extraMs);
      return true;
    }
    case "signal":
      run.signal(current.name, current.payload ?? undefined);
      return true;
    case "cancel":
      run.cancel("enough");
      return true;
    case "deadline":
      run.reachDeadline();
      return true;
  }
}

/** The obvious next thing: a step ends, a timer fires, a signal comes. */
function performNext(run: LiveRun): boolean {
  const [step] = run.steps();
  if (step) {
    run.execute(step);
    return true;
  }
  const timerAt = run.nextTimerAt();
  if (timerAt !== undefined) {
    run.advanceTo(timerAt);
    return true;
  }
  const waiting = run.machine.ops.pending().find((op) => op.signalName !== undefined);
  if (!waiting) return false;
  run.signal(waiting.signalName as string, 9);
  return true;
}

export function describePlan({ moves, toTheEnd }: Plan): string[] {
  return [
    ...moves.map((current) => `  ${describeMove(current)}`),
    toTheEnd ? "  … and so on to the end" : "  that is all",
  ];
}

function describeMove(current: Move): string {
  const { type, together: also, ...details } = current;
  const shown = Object.entries(details).map(([key, value]) => `${key} ${value}`);
  return [type, ...shown, ...(also ? ["(together with the next)"] : [])].join(" ");
}
