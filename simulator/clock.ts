/**
 * Virtual time, and the one queue of everything that happens. A lane is the task queue of a process, or of the world
 * around the processes: its tasks run in order, each with all its microtasks before anything else runs. Dice choose the
 * next lane; if no lane has a task, time jumps to the next timer.
 *
 * A task runs in a tick of the real event loop without going around the loop: a microtask requests the next tick, and a
 * tick comes only after every microtask has run. Now and then it does go around the loop, so that the runtime can
 * report rejections.
 */
import process from "node:process";
import type { Clock, Timer } from "../packages/holdfast/src/ports/clock.ts";
import type { Dice } from "./dice.ts";

/** A Sunday morning in 2026. */
export const START_MS = Date.UTC(2026, 0, 4, 8);
const TASKS_PER_ROUND = 2_000;
const BURST_MAX = 16;

interface Alarm {
  readonly at: number;
  readonly order: number;
  callback: (() => void) | undefined;
}

/** The tasks of one process. */
export class Lane {
  readonly #time: SimTime;
  #tasks: (() => void)[] = [];
  #next = 0;
  #paused = false;
  #queued = false;
  dead = false;
  /** How long the lane pauses after each burst of tasks. */
  lagMs = 0;

  constructor(time: SimTime) {
    this.#time = time;
  }

  add(task: () => void): void {
    if (this.dead) return;
    this.#tasks.push(task);
    this.#offer();
  }

  /** Stops its tasks until it is resumed. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#offer();
  }

  kill(): void {
    this.dead = true;
    this.#tasks = [];
    this.#next = 0;
  }

  get runnable(): boolean {
    return !this.#paused && this.#next < this.#tasks.length;
  }

  take(): (() => void) | undefined {
    const task = this.#tasks[this.#next++];
    if (this.#next === this.#tasks.length) {
      this.#tasks = [];
      this.#next = 0;
    }
    return task;
  }

  /** Ends its turn; it gets another if it has more tasks. */
  yield(): void {
    if (this.lagMs > 0) this.#time.at(this.lagMs, () => this.#rested());
    else this.#rested();
  }

  #rested(): void {
    this.#queued = false;
    this.#offer();
  }

  #offer(): void {
    if (this.#queued || !this.runnable) return;
    this.#queued = true;
    this.#time.offer(this);
  }
}

export class SimTime {
  /** Since the beginning. */
  elapsedMs = 0;
  tasks = 0;
  readonly #dice: Dice;
  readonly #ready: Lane[] = [];
  readonly #heap: Alarm[] = [];
  #order = 0;
  #current: Lane | undefined;
  #burst = 0;
  #until: () => boolean = () => true;
  #finished: (() => void) | undefined;
  /** Called with what a task threw: no task may throw. */
  onCrash: (error: unknown) => void = () => {};

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  offer(lane: Lane): void {
    this.#ready.push(lane);
  }

  at(delayMs: number, callback: () => void): Timer {
    const alarm: Alarm = { at: this.elapsedMs + Math.max(0, delayMs), order: this.#order++, callback };
    push(this.#heap, alarm);
    return {
      cancel: () => {
        alarm.callback = undefined;
      },
    };
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.at(ms, resolve));
  }

  /** Runs tasks and timers until the condition holds, or nothing is left. */
  run(until: () => boolean): Promise<void> {
    this.#until = until;
    return new Promise((resolve) => {
      this.#finished = resolve;
      setImmediate(this.#pump);
    });
  }

  readonly #again = (): void => {
    if (this.tasks % TASKS_PER_ROUND === 0) setImmediate(this.#pump);
    else process.nextTick(this.#pump);
  };

  readonly #pump = (): void => {
    const task = this.#until() ? undefined : this.#nextTask();
    if (!task) {
      this.#finished?.();
      return;
    }
    this.tasks += 1;
    queueMicrotask(this.#again);
    try {
      task();
    } catch (error) {
      this.onCrash(error);
    }
  };

  #nextTask(): (() => void) | undefined {
    for (;;) {
      const lane = this.#current;
      if (lane) {
        if (this.#burst-- > 0 && lane.runnable && !lane.dead) return lane.take();
        this.#current = undefined;
        lane.yield();
      }
      const { length } = this.#ready;
      if (length > 0) {
        const [next] = this.#ready.splice(length === 1 ? 0 : this.#dice.int(0, length - 1), 1);
        this.#current = next;
        this.#burst = length === 1 ? BURST_MAX : this.#dice.int(1, BURST_MAX);
        continue;
      }
      const alarm = pop(this.#heap);
      if (!alarm) return undefined;
      if (!alarm.callback) continue;
      this.elapsedMs = Math.max(this.elapsedMs, alarm.at);
      return alarm.callback;
    }
  }
}

/** The time as a process sees it: its clock may be off, and run fast or slow. */
export class ProcessClock implements Clock {
  readonly #time: SimTime;
  readonly #lane: Lane;
  readonly #rate: number;
  readonly #onUse: () => void;
  /** How far its wall clock is ahead. */
  skewMs: number;

  constructor(time: SimTime, lane: Lane, rate: number, skewMs: number, onUse: () => void) {
    this.#time = time;
    this.#lane = lane;
    this.#rate = rate;
    this.skewMs = skewMs;
    this.#onUse = onUse;
  }

  now(): number {
    return Math.floor(START_MS + this.skewMs + this.#time.elapsedMs * this.#rate);
  }

  monotonic(): number {
    return this.#time.elapsedMs * this.#rate;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    this.#onUse();
    let live = true;
    const timer = this.#time.at(delayMs / this.#rate, () =>
      this.#lane.add(() => {
        if (live) callback();
      }),
    );
    return {
      cancel: () => {
        live = false;
        timer.cancel();
      },
    };
  }

  immediate(callback: () => void): void {
    this.#onUse();
    this.#lane.add(callback);
  }
}

function isBefore(a: Alarm, b: Alarm): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function push(heap: Alarm[], alarm: Alarm): void {
  let i = heap.length;
  heap.push(alarm);
  while (i > 0) {
    const parent = (i - 1) >> 1;
    const above = heap[parent] as Alarm;
    if (!isBefore(alarm, above)) break;
    heap[i] = above;
    i = parent;
  }
  heap[i] = alarm;
}

function pop(heap: Alarm[]): Alarm | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (!first || !last || heap.length === 0) return first;
  let i = 0;
  for (;;) {
    let child = 2 * i + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Alarm, heap[child] as Alarm)) child += 1;
    if (!isBefore(heap[child] as Alarm, last)) break;
    heap[i] = heap[child] as Alarm;
    i = child;
  }
  heap[i] = last;
  return first;
}
