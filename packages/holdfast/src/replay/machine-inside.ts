import type { HoldfastError } from "../errors/holdfast-error.ts";
import type { Attributes, EventDraft, HistoryEvent } from "../model/event.ts";
import type { Payload } from "../model/payload.ts";
import type { CompensationOutcome, Run } from "../model/run.ts";
import type { Logger } from "../ports/logger.ts";
import type { AbortOnce } from "./context/abort-once.ts";
import type { Context } from "./context/context.ts";
import type { QueryDefinition, UpdateDefinition } from "./context/conversations.ts";
import type { Scope } from "./context/scope.ts";
import type { SeededRandom } from "./context/seeded-random.ts";
import type { Divergence } from "./history/divergence.ts";
import type { Edits } from "./history/edits.ts";
import type { Failures } from "./history/failures.ts";
import type { Outcome } from "./machine.ts";
import type { AskInit, Op, OpHost, OpModule } from "./op.ts";
import type { OpTable } from "./op-table.ts";
import type { SignalBuffer } from "./ops/signal-buffer.ts";
import type { Compensation } from "./ops/step-options.ts";
import type { RunCode } from "./run-code.ts";

/**
 * The run machine as its own parts see it: the context, the kinds of op, cancellation, the call of the workflow function.
 */
export interface MachineInside extends OpHost {
  readonly run: Run;
  readonly code: RunCode;
  readonly log: Logger;
  readonly root: Scope;
  readonly ops: OpTable;
  readonly signals: SignalBuffer;
  readonly compensations: Undoing;
  readonly sideEffects: { run(name: string, fn: () => unknown): unknown };
  readonly patches: { isPatched(id: string): boolean };
  /** For `ctx.abortSignal`. */
  readonly abort: AbortOnce;
  readonly random: SeededRandom;
  readonly retries: number;
  /** What was recorded when the machine was made. */
  readonly recorded: readonly HistoryEvent[];

  readonly outcome: Outcome | undefined;
  readonly divergence: Divergence | undefined;
  readonly violation: HoldfastError | undefined;
  readonly inTurn: boolean;
  /** Whether the turn was finished before: its log lines have been written, and nothing in it is new. */
  readonly turnIsRecorded: boolean;
  /** Whether what the code does now has been done before. */
  readonly repeating: boolean;
  /** Time of the event that opened this turn: what `ctx.now()` returns. */
  readonly turnAt: number;
  /** What new timers count from. */
  readonly timersFrom: number;
  /** Where the histories of other runs end that this one began with. */
  readonly forks: readonly HistoryEvent[];
  /** Outcomes that whoever forked the run has decided. */
  readonly edits: Edits | undefined;
  readonly seenSeq: number;
  /** The event that the code had seen last when it last asked for an op. */
  readonly askedSeq: number;
  /** The name of the next group of branches. */
  nextGroup(name: "parallel" | "race"): string;
  readonly failures: Failures;
  readonly currentScope: Scope;

  /** The scope of an op that is asked for through the ctx of the given scope. */
  ownerOf(scope: Scope): Scope;
  /** The ctx of a branch. */
  contextIn(scope: Scope): Context;
  /** Calls a function whose ops belong to that scope, unless they name another. */
  within<T>(scope: Scope, fn: () => T): T;
  /** Refuses a ctx call at a moment when it could not be replayed. */
  assertInTurn(method: string, name?: string): void;
  /** Registers an op; the promise never raises an unhandled rejection, whether or not it is awaited. */
  ask(module: OpModule, name: string, scope: Scope, init: AskInit): Promise<unknown>;
  /**
   * Records something that the code does, or finds it recorded. Undefined: it is not recorded, and cannot be added here. An
   * event that does not bind may be in another turn than the one in which the code does it now. `completed`: what to record,
   * if that has to be determined first. `refusal`: throws if that would have been refused, and so was never recorded.
   */
  command(
    draft: EventDraft,
    binds?: boolean,
    completed?: () => EventDraft,
    refusal?: () => void,
  ): HistoryEvent | undefined;
  /** See `ctx.on`. */
  on(definition: Pick<QueryDefinition | UpdateDefinition, "kind" | "name">, handler: unknown): void;
  /** The message id of an update that was accepted, to be found by its number from now on. */
  noteUpdate(number: number, messageId: string): void;
  setAttributes(attributes: Attributes): void;
  /** All attributes that the run would have with these. */
  attributesWith(added: Attributes): Attributes;
  /** From here on, only compensations may be asked for, in the scope that this returns. */
  beginUndo(): Scope;
  continueAsNew(input: Payload, scope: Scope): void;
  /** The code has ended. `forgotten`: the ops that it left pending. */
  conclude(outcome: Outcome, forgotten?: readonly Op[]): void;
  /** The code did something after which its run cannot continue. */
  violate(error: HoldfastError): void;
}

/** What must be undone if the run fails or is canceled. */
export interface Undoing {
  addByHand(name: string, undo: Compensation<unknown>): void;
  /** Whether the outcome of this step matters even when the code no longer waits for it. */
  mustLearn(op: Op): boolean;
  run(): Promise<CompensationOutcome | null>;
}
