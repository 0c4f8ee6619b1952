import type { ChildIdentity, ClosePolicy } from "../../model/child.ts";
import type { Attributes } from "../../model/event.ts";
import { childRunId } from "../../model/ids.ts";
import type { Payload } from "../../model/payload.ts";
import type { Run } from "../../model/run.ts";
import { appended, NONE } from "../../model/short-list.ts";

/** What to start, as the code says. */
export interface ChildSpec {
  readonly workflow: string;
  readonly version: string;
  /** Whether the code names the version; otherwise the store may choose another one. */
  readonly versionGiven: boolean;
  readonly queue: string;
  readonly priority: number;
  /** What the limits and the fairness of the queue go by. */
  readonly key: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly attributes: Attributes;
  readonly id: string | undefined;
  readonly policy: ClosePolicy;
}

/** One child of a run, and where it stands according to history. */
export class ChildWork {
  readonly spec: ChildSpec;
  /** The code wants a handle, and need not wait for the result. */
  readonly byHandle: boolean;
  /** Counts the runs that have replaced each other as the child of this op, from 1. */
  generation = 1;
  /** The run ids of those that were replaced. */
  former: readonly string[] = NONE;
  /** History says that it was started. */
  begun = false;
  /** Where history first says that; 0 if it does not. */
  firstStartSeq = 0;
  /** The run was retried: what has become of the child must be found out, and it may have to be replaced. */
  lost = false;
  /** It was lost while it was being closed: whatever its policy says, it may have been asked to stop. */
  stopped = false;
  /** Its failure was taken back: the child itself is to be retried. */
  failed = false;
  /** What has become of it is not found out before then; undefined: at once. */
  retryAt: number | undefined = undefined;
  /** The parent is being wound up: the child is canceled, and its outcome recorded. */
  closing = false;
  /** Who waits for the handle. */
  onStarted: (() => void) | undefined;
  readonly #parent: Pick<Run, "runId" | "namespace">;
  #input: Payload | null;
  #op = "";
  #identity: ChildIdentity | undefined;
  #forgotten: Set<string> | undefined;

  constructor(parent: Pick<Run, "runId" | "namespace">, spec: ChildSpec, input: Payload, byHandle: boolean) {
    this.#parent = parent;
    this.spec = spec;
    this.#input = input;
    this.byHandle = byHandle;
  }

  asked(op: string): void {
    this.#op = op;
  }

  get op(): string {
    return this.#op;
  }

  /** Which run it is: always the same for this op and generation. */
  get identity(): ChildIdentity {
    this.#identity ??= this.#named();
    return this.#identity;
  }

  #named(): ChildIdentity {
    const { runId: parentRunId, namespace } = this.#parent;
    const { id, workflow, version } = this.spec;
    const runId = childRunId(parentRunId, this.#op, this.generation, namespace, id);
    return { runId, id: id ?? runId, workflow, version };
  }

  /** What the child is started with, also one that replaces it. Null once it has ended. */
  get input(): Payload | null {
    return this.#input;
  }

  /** The code has its handle, and nobody need wait for it. */
  get detached(): boolean {
    return this.byHandle && this.begun;
  }

  // What history says

  started(identity: ChildIdentity | undefined, seq: number): void {
    this.begun = true;
    this.firstStartSeq ||= seq;
    // As recorded, whatever the code says now.
    if (identity) this.#identity = identity;
    this.tellStarted();
  }

  /** The code gets its handle. */
  tellStarted(): void {
    this.onStarted?.();
  }

  /** It has ended: its input is needed no more. */
  done(): void {
    this.#input = null;
  }

  /** The run was retried, and its child is to be as well. */
  forgetFailure(end: string | undefined): void {
    this.lost = true;
    this.failed = true;
    if (end === undefined) return;
    this.#forgotten ??= new Set();
    this.#forgotten.add(end);
  }

  /** Whether that end of the child was taken back with the failure that it was. */
  isForgotten(end: string | undefined): boolean {
    return end !== undefined && (this.#forgotten?.has(end) ?? false);
  }

  lose(stopped = false): void {
    this.lost = true;
    this.stopped ||= stopped;
  }

  /** The child is awaited again; with a generation, another one in its place. */
  rescheduled(generation: number | undefined): void {
    this.lost = false;
    this.failed = false;
    this.stopped = false;
    this.retryAt = undefined;
    if (generation === undefined) return;
    this.former = appended(this.former, this.identity.runId);
    this.generation = generation;
    this.begun = false;
    this.#identity = undefined;
  }

  close(): void {
    this.closing = true;
  }
}
