/**
 * `hf.move`: takes open runs to another store, each exactly once.
 *
 * V1. A run is claimable in one store at most. It leaves the source in one transaction, which closes it there as `moved`, and only
 *     then is it written into the target.
 * V2. Nothing that arrives at the source gets lost: it leaves only as it was read, with every message up to then. What comes later
 *     is refused with `run_moved`.
 * V3. It arrives once. The target notes the arrival with the epoch of the departure, and keeps the note: a mover that was stopped for
 *     long, while another one has finished its work, may still come with the same run. A refusal is noted as well, and only then does
 *     the source take the run back, with a higher epoch.
 *     Whoever else wants to take the same run along gets no answer as if it had left for him: a departure has an id of its own, and
 *     goes to one store and namespace, which every store is known by (`identify`), not by its name.
 * V4. Nothing is remembered outside the stores: if the mover dies anywhere, the next `hf.move` to the same store finishes what it
 *     finds among the departures.
 */
import { originalStore } from "../../calls/answering-store.ts";
import { pause } from "../../calls/store-retry.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import {
  invalidOption,
  type OptionCheck,
  type OptionChecks,
  optionsOf,
  requireOptions,
} from "../../errors/option-checks.ts";
import { schemeOf } from "../../errors/shown-url.ts";
import { shownValue } from "../../errors/shown-value.ts";
import { whoOf } from "../../model/operator-notes.ts";
import { isClosed, OPEN_STATUSES, type RunRow } from "../../model/run.ts";
import type { RunImage } from "../../model/transfer.ts";
import type { DepartOutcome, Departure, TransferParams } from "../../ports/store.ts";
import type { ClientCore } from "../client-core.ts";
import type { ListFilter } from "../client-options.ts";
import { LIST_FILTER, runFilter } from "../list-filter.ts";
import { OPERATOR_OPTIONS, type OperatorOptions, withWho } from "../operations.ts";
import { runMoved } from "../run-moved.ts";
import { imageOf, isTooLarge, readRun } from "./run-images.ts";
import { TransferCount, type TransferResult } from "./transfer-result.ts";

const PAGE = 200;
/** How many runs are on their way at once. */
const IN_FLIGHT_MAX = 8;
/** After which time those that were held are looked at again: more and more seldom. */
const WAIT_MS_FIRST = 50;
const WAIT_MS_MAX = 2_000;

/** Options of `hf.move`; `C` is the class of clients. */
export interface MoveOptions<C = unknown> extends OperatorOptions {
  /** Another store: its URL, or a client of it. With a client of another namespace, the runs belong to that one from then on. */
  readonly to: string | C;
  /**
   * Only open runs that match it.
   * @defaultValue all open runs of the namespace
   */
  readonly filter?: ListFilter;
}

const isTarget: OptionCheck = (value, where, option) => {
  if (typeof value === "string" || value instanceof Object) return;
  throw invalidOption(where, option, `is ${shownValue(value)}, neither a URL nor a client`);
};

const MOVE_OPTIONS: OptionChecks<MoveOptions> = {
  ...OPERATOR_OPTIONS,
  to: isTarget,
  filter: optionsOf(LIST_FILTER),
};

/** A store that was opened for the move is closed afterward. `coreOf`: throws if it is not a client. */
export async function withTarget<C extends { close(): Promise<void> }>(
  core: ClientCore,
  options: MoveOptions<C>,
  coreOf: (client: C) => ClientCore,
): Promise<TransferResult> {
  requireOptions(options, MOVE_OPTIONS, "move");
  const { to } = options;
  if (to === undefined) throw invalidOption("move", "to", "is missing: it is a URL or a client");
  if (typeof to !== "string") return moveRuns(core, options, targetCore(to, coreOf));
  if (schemeOf(to) === "memory")
    throw invalidOption(
      "move",
      "to",
      "is a store in memory, which is gone after the call; pass a client that keeps it open",
    );
  const { connectTo } = core.ports;
  if (!connectTo) throw invalidOption("move", "to", "is a URL, and this client opens no other stores; pass a client");
  const opened = (await connectTo(to)) as C;
  try {
    return await moveRuns(core, options, coreOf(opened));
  } finally {
    await opened.close();
  }
}

function targetCore<C>(client: C, coreOf: (client: C) => ClientCore): ClientCore {
  try {
    return coreOf(client);
  } catch {
    throw invalidOption("move", "to", "is neither a URL nor a client");
  }
}

async function moveRuns(core: ClientCore, options: MoveOptions, target: ClientCore): Promise<TransferResult> {
  if (originalStore(core.ports.store) === originalStore(target.ports.store))
    throw invalidOption("move", "to", "is the store that the runs are in");
  const from = await storeIdOf(core, core.newId());
  const to = await storeIdOf(target, core.newId());
  if (from === to) throw invalidOption("move", "to", "is the store that the runs are in, or a copy of it");
  const move = new Move(core, target, options, `${to}/${target.namespace}`);
  await move.finishEarlier();
  await move.moveAll();
  return move.count.result;
}

async function storeIdOf(core: ClientCore, storeId: string): Promise<string> {
  return (await core.call((store) => store.transfers.identify({ storeId }))).storeId;
}

/** As errors and `describe` name it. */
function targetName({ ports, namespace }: ClientCore, from: string): string {
  const place = ports.place ?? "another store";
  return namespace === from ? place : `${place}, namespace ${namespace}`;
}

type MoveStep = "moved" | "again" | "over";

class Move {
  readonly count = new TransferCount();
  readonly #core: ClientCore;
  readonly #target: ClientCore;
  readonly #options: MoveOptions;
  /** The store and the namespace that the runs go to, whatever they are called. */
  readonly #place: string;
  readonly #to: string;

  constructor(core: ClientCore, target: ClientCore, options: MoveOptions, place: string) {
    this.#core = core;
    this.#target = target;
    this.#options = options;
    this.#place = place;
    this.#to = targetName(target, core.namespace);
  }

  /** Those that a mover has left behind on their way. */
  async finishEarlier(): Promise<void> {
    const { namespace } = this.#core;
    for (let after: string | undefined; ; ) {
      const params = { namespace, limit: PAGE, ...(after === undefined ? {} : { after }) };
      const page = await this.#core.call((store) => store.transfers.departures(params));
      await eachOf(page, (departure) => this.#finish(departure));
      if (page.length < PAGE) return;
      after = page.at(-1)?.runId;
    }
  }

  async #finish(departure: Departure): Promise<void> {
    const read = await readRun(this.#core, departure.runId);
    // Another mover has finished it since, and the run may have come back: then it is not the one that has left.
    if (read?.run.status !== "moved" || read.run.epoch !== departure.epoch) return;
    if (departure.target === this.#place) await this.#deliver(imageOf(read, departure.rest, this.#target.namespace));
    else this.count.skip(read.run, "moving_elsewhere");
  }

  /** Those that are held come last, and are awaited. */
  async moveAll(): Promise<void> {
    const { statuses = OPEN_STATUSES, ...filter } = runFilter(this.#core.namespace, this.#options.filter ?? {});
    const open = statuses.filter((status) => !isClosed(status));
    const held: RunRow[] = [];
    for (let before: { createdAt: number; runId: string } | undefined; open.length > 0; ) {
      const params = { ...filter, statuses: open, limit: PAGE, ...(before && { before }) };
      const page = await this.#core.call((store) => store.runs.list(params));
      await eachOf(page, async (row) => {
        if ((await this.#move(row)) === "again") held.push(row);
      });
      const last = page.at(-1);
      if (page.length < PAGE || !last) break;
      before = { createdAt: last.createdAt, runId: last.runId };
    }
    await this.#await(held);
  }

  async #await(held: readonly RunRow[]): Promise<void> {
    let waiting = held;
    for (let waitMs = WAIT_MS_FIRST; waiting.length > 0; waitMs = Math.min(waitMs * 1.5, WAIT_MS_MAX)) {
      await pause({ ...this.#core.ports, life: this.#core.life }, waitMs);
      const left: RunRow[] = [];
      await eachOf(waiting, async (row) => {
        if ((await this.#move(row)) === "again") left.push(row);
      });
      waiting = left;
    }
  }

  async #move(row: RunRow): Promise<MoveStep> {
    if (row.heldBy !== null && (await this.#isHeld(row))) return "again";
    const read = await readRun(this.#core, row.runId);
    if (!read || isClosed(read.run.status)) return "over";
    if (read.run.heldBy !== null) return "again";
    const reason = isTooLarge(read) ? "run_too_large" : await this.#conflict(read.run);
    if (reason !== undefined) return this.#skip(row, reason);
    const { run } = read;
    const error = withWho(toErrorRecord(runMoved(run.id, this.#to)), whoOf(this.#options));
    const data = { ...error.data, to: this.#to };
    const { namespace, runId, epoch, commit, delivered } = run;
    const place = { departureId: this.#core.newId(), target: this.#place, to: this.#to };
    const params = { namespace, runId, epoch, commit, delivered, ...place, error: { ...error, data } };
    const answer: DepartOutcome = await this.#core.untilNotBusy((store) => store.transfers.departIfIdle(params));
    if (answer.outcome === "not_found") return "over";
    if (answer.outcome === "tied" && answer.tie !== "owes") return this.#skip(row, `tied_${answer.tie}`);
    if (answer.outcome !== "departed") return "again";
    const left = { ...read, run: { ...run, epoch: epoch + 1 } };
    await this.#deliver(imageOf(left, answer.rest, this.#target.namespace));
    return "moved";
  }

  #skip(row: RunRow, code: string): MoveStep {
    this.count.skip(row, code);
    return "over";
  }

  async #isHeld({ namespace, runId }: RunRow): Promise<boolean> {
    const [run] = await this.#core.call((store) => store.runs.read({ runs: [{ namespace, runId }] }));
    return run?.runId === runId && run.heldBy !== null;
  }

  /** What would refuse the run, as far as that can be seen before it has left. */
  async #conflict({ runId, id, epoch, createdAt }: RunRow): Promise<string | undefined> {
    const { namespace } = this.#target;
    const runs = [
      { namespace, runId },
      { namespace, id },
    ];
    const [same, other] = await this.#target.call((store) => store.runs.read({ runs }));
    if (same?.runId === runId && (same.status !== "moved" || same.epoch > epoch)) return "run_exists";
    if (!other || other.runId === runId) return undefined;
    return isClosed(other.status) && other.createdAt < createdAt ? undefined : "id_taken";
  }

  /** The run has left the source: it arrives, or the source takes it back. */
  async #deliver(image: RunImage): Promise<void> {
    const { runId, epoch, id } = image.run;
    const source: TransferParams = { namespace: this.#core.namespace, runId, epoch };
    const { outcome } = await this.#target.untilNotBusy((store) => store.transfers.arrive({ image }));
    if (outcome === "arrived") {
      await this.#core.call((store) => store.transfers.confirm(source));
      this.count.runs += 1;
    } else {
      await this.#takeBack(image);
      this.count.skip({ runId, id }, outcome === "exists" ? "run_exists" : outcome);
    }
  }

  async #takeBack(image: RunImage): Promise<void> {
    const { namespace } = this.#core;
    const epoch = image.run.epoch + 1;
    const back: RunImage = { ...image, run: { ...image.run, namespace, epoch } };
    await this.#core.untilNotBusy((store) => store.transfers.arrive({ image: back }));
  }
}

/** A few at a time. The first error ends it, once those on their way have settled. */
async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      next += 1;
      await act(items[next - 1] as T);
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(IN_FLIGHT_MAX, items.length) }, lane));
  for (const settled of lanes) if (settled.status === "rejected") throw settled.reason;
}
