/** The owner of schedules: creates them, pauses and resumes them, triggers runs, and ends their runs, which no worker executes. */
import type { Client } from "../packages/holdfast/src/client/client.ts";
import type { MemoryState } from "../packages/holdfast/src/memory/state.ts";
import { isClosed } from "../packages/holdfast/src/model/run.ts";
import { OVERLAP_POLICIES } from "../packages/holdfast/src/model/schedule.ts";
import { type Caller, insist } from "./insist.ts";
import type { Trace } from "./trace.ts";

/** Its runs are in a namespace of their own: no other part of the simulator has anything to do with them. */
export const TIMED = "timed";

/** In how many of a hundred seeds there are schedules. */
const SHARE = 0.4;

export interface TimekeeperParams extends Caller {
  readonly state: MemoryState;
  readonly trace: Trace;
  readonly complain: (text: string) => void;
}

export class Timekeeper {
  readonly #params: TimekeeperParams;
  readonly #ids: string[] = [];
  #busy = 0;

  constructor(params: TimekeeperParams) {
    this.#params = params;
  }

  get busy(): boolean {
    return this.#busy > 0;
  }

  begin(over: () => boolean): void {
    const { dice } = this.#params;
    if (!dice.chance(SHARE)) return;
    for (let i = dice.int(1, 3); i > 0; i--) this.#task(() => this.#own(`t${i}`, over));
  }

  async #own(id: string, over: () => boolean): Promise<void> {
    const { dice, time, trace } = this.#params;
    const every = { milliseconds: dice.int(1, 5) * 1_000 };
    const overlap = dice.pick(OVERLAP_POLICIES);
    const options = { id, workflow: "timed", every, overlap, catchUp: { max: 1_000 } };
    await this.#insist((client) => client.schedules.create(options), ["schedule_already_exists"]);
    this.#ids.push(id);
    while (!over()) {
      await time.wait(dice.between(300, 5_000));
      const deed = dice.pick(["end", "end", "pause", "resume", "resume", "trigger"] as const);
      trace.add(time.elapsedMs, "timekeeper", undefined, `${deed} ${id}`);
      if (deed === "end") await this.#end(id);
      else await this.#insist(async (client) => void (await client.schedules[deed](id)), []);
    }
    // What is due is fired, and then nothing more.
    await this.#insist((client) => client.schedules.resume(id), []);
    await time.wait(30_000);
    await this.#insist((client) => client.schedules.pause(id), []);
  }

  async #end(id: string): Promise<void> {
    const rows = [...this.#params.state.runs.values()];
    const open = rows.filter((run) => run.namespace === TIMED && run.id.startsWith(id) && !isClosed(run.status));
    const [first] = open;
    if (first) await this.#insist((client) => client.get(first.id).terminate("done"), []);
  }

  #insist<T>(call: (client: Client) => Promise<T>, fine: readonly string[]): Promise<unknown> {
    return insist(this.#params, (_client, process) => call(process.timed), fine);
  }

  #task(work: () => Promise<unknown>): void {
    this.#busy += 1;
    const done = (): void => {
      this.#busy -= 1;
    };
    work().then(done, (error: unknown) => {
      done();
      this.#params.complain(`the timekeeper: ${error}`);
    });
  }
}
