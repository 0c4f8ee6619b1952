import {
  type ArrivalOutcome,
  type DepartOutcome,
  type DepartParams,
  departedRun,
  type ErrorRecord,
  type Run,
  type RunImage,
  type RunRest,
  type Store,
} from "holdfast/adapter";
import type { Fixture } from "./fixture.ts";
import { errorRecord } from "./sample-data.ts";

/** What the closed run says. */
export const MOVED: ErrorRecord = { ...errorRecord("moved"), code: "run_moved", data: { to: "elsewhere" } };

/** The calls about runs that leave and arrive that most cases make. */
export class TransferCalls {
  readonly #fixture: Fixture;
  readonly #store: Store;

  constructor(fixture: Fixture) {
    this.#fixture = fixture;
    this.#store = fixture.store;
  }

  /** A departure of the run as it is now; not sent yet. */
  async departure(runId: string, fields: Partial<DepartParams> = {}): Promise<DepartParams> {
    const { namespace, epoch, commit, delivered } = await this.#fixture.run(runId);
    const [departureId, target] = [this.#fixture.newId(), "there/default"];
    const place = { departureId, target, to: "elsewhere" };
    return { namespace, runId, epoch, commit, delivered, ...place, error: MOVED, ...fields };
  }

  async depart(runId: string, fields: Partial<DepartParams> = {}): Promise<DepartOutcome> {
    return this.#store.transfers.departIfIdle(await this.departure(runId, fields));
  }

  async rest(runId: string): Promise<RunRest> {
    return (await this.#store.transfers.read({ runs: [{ namespace: "default", runId }] }))[0] as RunRest;
  }

  /** The run as it is, with everything that it takes along. */
  async image(runId: string): Promise<RunImage> {
    const run = await this.#fixture.run(runId);
    const [events, messages] = [await this.#fixture.history(runId), await this.#fixture.inbox(runId)];
    return { run, events, messages, rest: await this.rest(runId) };
  }

  /** The run leaves; as it was, with the epoch that it then has. */
  async departed(runId: string): Promise<RunImage> {
    const { events, messages } = await this.image(runId);
    const answer = await this.depart(runId);
    if (answer.outcome !== "departed") throw new Error(`the departure was answered ${answer.outcome}`);
    const run = departedRun(await this.#fixture.run(runId), answer.rest);
    return { run, events, messages, rest: answer.rest };
  }

  async arrive(image: RunImage, fields: Partial<Run> = {}): Promise<ArrivalOutcome> {
    return (await this.#store.transfers.arrive({ image: { ...image, run: { ...image.run, ...fields } } })).outcome;
  }
}
