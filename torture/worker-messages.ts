/** The messages between the harness and its worker processes. */
import type { Point } from "./named-points.ts";
import type { Place } from "./torture-client.ts";
import type { Saying } from "./workload.ts";

/** What a worker process works on. A client works on nothing: it only talks to runs. */
export type WorkerRole = "both" | "workflows" | "tasks" | "client";

/** The setup of a worker process, passed as a command-line argument. */
export interface WorkerSetup {
  readonly place: Place;
  readonly effectsFile: string;
  readonly leaseMs: number;
  readonly concurrency: number;
  /** Both by default. */
  readonly role?: WorkerRole;
  /** Whether its gated steps wait until the harness opens the gate. */
  readonly gated: boolean;
  /** Only opens the store, and dies before this statement of the migration, counted from its `begin`. */
  readonly dieAtStatement?: number;
}

/** What happens at a point: the process kills itself, stops itself until it is continued, or only reports. */
export type PointAction = "kill" | "stop" | "tell";

export interface StartOrder {
  readonly workflow: string;
  readonly id: string;
  readonly input: number;
}

/** Finishes a task with its token: completes it with the result, or fails its attempt. */
export interface FinishOrder {
  readonly token: string;
  readonly type: "complete" | "fail";
  readonly result: { readonly value: string; readonly token: string };
}

/** Says something to the run of this id. */
export interface SayOrder extends Saying {
  readonly workflow: string;
  readonly id: string;
  readonly input: number;
}

export type ToWorker =
  | { readonly type: "arm"; readonly point: Point; readonly action: PointAction; readonly skip: number }
  | { readonly type: "drain" }
  | { readonly type: "open-gate" }
  | { readonly type: "effects-file"; readonly request: number; readonly path: string }
  | { readonly type: "finish"; readonly request: number; readonly order: FinishOrder }
  | { readonly type: "start"; readonly request: number; readonly runs: readonly StartOrder[] }
  | { readonly type: "say"; readonly request: number; readonly order: SayOrder }
  | { readonly type: "ask"; readonly request: number };

export interface WorkerFacts {
  readonly workerId: string;
  readonly activeRuns: number;
  readonly activeTasks: number;
  /** Writes of this process that the fence refused. */
  readonly refusedWrites: number;
  /** How many times the store has declared this process dead. */
  readonly declaredDead: number;
}

export type FromWorker =
  | { readonly type: "ready" }
  | { readonly type: "drained" }
  | { readonly type: "answer"; readonly request: number; readonly facts: WorkerFacts; readonly value?: unknown }
  | { readonly type: "failed"; readonly request: number | null; readonly error: string; readonly code?: string };

/** The file descriptor on which a process reports, synchronously, which point it has reached. */
export const POINT_FD = 4;
/** Begins a line that says whether the process holds parents and children. */
export const HOLDS = "holds: ";
