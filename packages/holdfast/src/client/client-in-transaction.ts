import type { AnyWorkflow } from "../define/definitions.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { invalidOption } from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { NewRun } from "../model/run.ts";
import type { Store } from "../ports/store.ts";
import { hookedStore } from "../ports/store-calls.ts";
import { offering, wantedRun } from "./call-checks.ts";
import { ClientCore } from "./client-core.ts";
import type { StartOptions } from "./client-options.ts";
import { type KnownWorkflows, newRun, requireRoom, requireStarted, startOf } from "./new-run.ts";
import type { RegisteredStarts } from "./registered-starts.ts";
import { RunHandle } from "./run-handle.ts";
import { startMany } from "./start-many.ts";
import type { HandleOf, StartArguments, StartedMany, StartRequest } from "./start-request.ts";

/** The calls that join the transaction. Reads go to the store as usual, and every other call is refused. */
export interface JoinedCalls {
  readonly start: Store["runs"]["start"];
  readonly deliver: Store["inbox"]["deliver"];
}

/** What a client in a transaction and its run handles share. */
export class JoinedCore extends ClientCore {
  readonly #outside: ClientCore;

  constructor(core: ClientCore, { start, deliver }: JoinedCalls) {
    const { ports, namespace, waiter, updates, life } = core;
    const store = hookedStore(ports.store, { "runs.start": start, "inbox.deliver": deliver });
    super({ ...ports, store }, namespace, waiter, updates, life);
    this.#outside = core;
  }

  override get registered(): RegisteredStarts {
    return this.#outside.registered;
  }

  /**
   * A write of its own would outlive a rollback, and could wait for a lock that the application's transaction holds while
   * the application waits for the write.
   */
  override requireNoTransaction(call: string): never {
    const message = `inTransaction: ${call}() cannot be part of a transaction; nothing has happened. Call it after the commit, on the client itself: hf.get(id).${call}().`;
    throw new HoldfastError("not_supported", message, { data: { call } });
  }
}

/**
 * Starts runs and sends messages as part of the application's own transaction: they take effect when it commits, or not
 * at all. Await each call before the transaction ends. Made by an adapter's `inTransaction`.
 */
export class ClientInTransaction {
  readonly #core: ClientCore;
  readonly #known: KnownWorkflows;

  constructor(core: ClientCore, known: KnownWorkflows) {
    this.#core = core;
    this.#known = known;
  }

  /** The run exists once the transaction has committed; wait for its result after that. */
  start<D extends AnyWorkflow | string, S extends string = string>(
    workflow: D,
    ...inputAndOptions: StartArguments<D, S>
  ): Promise<HandleOf<D>>;
  async start(workflow: AnyWorkflow | string, input?: unknown, options: StartOptions = {}): Promise<RunHandle<never>> {
    this.#core.life.assertOpen();
    return this.#send(await newRun(this.#core, this.#known, { workflow, input, options }), options, workflow);
  }

  async #send(run: NewRun, options: StartOptions, workflow: AnyWorkflow | string): Promise<RunHandle<never>> {
    if (options.debounce)
      throw invalidOption(`start of workflow "${run.workflow}"`, "debounce", "is not possible in a transaction");
    const start = startOf(this.#core, run, options, false, undefined);
    const outcome = requireRoom(run, await this.#core.starts.add({ start, holdBy: undefined }));
    const started = requireStarted(this.#core, outcome, run.workflow);
    return new RunHandle(this.#core, outcome.run.id, started, offering(workflow)) as RunHandle<never>;
  }

  /**
   * Like `startMany` of the client. The starts that were not refused are part of the transaction: roll it back, or
   * continue without the others.
   */
  startMany<const T extends readonly (AnyWorkflow | string)[], S extends string = string>(
    requests: {
      readonly [K in keyof T]: StartRequest<T[K], S>;
    },
  ): Promise<StartedMany<T>>;
  async startMany(requests: readonly StartRequest[]): Promise<never> {
    this.#core.life.assertOpen();
    return startMany(requests, {
      prepare: ({ workflow, input, options = {} }) => newRun(this.#core, this.#known, { workflow, input, options }),
      send: (...sent) => this.#send(...sent),
    }) as Promise<never>;
  }

  /**
   * `signal` and `cancel` of the handle are part of the transaction; everything it reads is what is committed.
   * `update`, `query`, `terminate`, `retry`, `fork`, `pause` and `resume` are refused with `not_supported`: call them on the client, after the
   * commit.
   */
  get(id: string): RunHandle;
  get<D extends AnyWorkflow>(workflow: D, id: string): HandleOf<D>;
  get(idOrWorkflow: string | AnyWorkflow, id?: string): RunHandle<never> {
    this.#core.life.assertOpen();
    const [wanted, workflow] = wantedRun(idOrWorkflow, id);
    return new RunHandle(this.#core, wanted, undefined, workflow) as RunHandle<never>;
  }
}

export function notAClient(value: unknown): HoldfastError {
  const fault = `is ${shownValue(value)}, not one that connect() of this installation of holdfast has returned`;
  return invalidOption("inTransaction", "the client", fault);
}
