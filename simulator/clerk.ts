/** Someone outside who ends tasks with their tokens: in time, late, twice, in two ways at once, or with a token that is over. */
import { jsonCodec } from "../packages/holdfast/src/codec/json-codec.ts";
import { readToken, type TaskToken } from "../packages/holdfast/src/model/task-token.ts";
import { type Caller, insist } from "./insist.ts";
import type { SimStore } from "./store/sim-store.ts";
import type { TokenAnswer } from "./task-evidence.ts";
import type { Trace } from "./trace.ts";

export interface ClerkParams extends Caller {
  readonly store: SimStore;
  readonly trace: Trace;
  /** Nothing is left to do, and nothing will come. */
  readonly over: () => boolean;
  readonly complain: (text: string) => void;
}

const LOOK_MS = 700;
const DEEDS = { complete: 5, fail: 2, twice: 1, both: 1, late: 1, beat: 1, ignore: 1 };

type Deed = TokenAnswer["deed"];

export class Clerk {
  readonly answers: TokenAnswer[] = [];
  mended = false;
  readonly #params: ClerkParams;
  readonly #known = new Map<string, string>();
  readonly #ignored = new Set<string>();
  #busy = 0;
  #values = 0;

  constructor(params: ClerkParams) {
    this.#params = params;
  }

  get busy(): boolean {
    return this.#busy > 0;
  }

  begin(): void {
    const { time, dice } = this.#params;
    const look = (): void => {
      if (this.#params.over()) return;
      void this.#look().then(() => time.at(dice.between(0.3, 1.7) * LOOK_MS, look));
    };
    time.at(LOOK_MS, look);
  }

  async #look(): Promise<void> {
    const { dice } = this.#params;
    await this.#lookAt("external", 1);
    if (!this.mended && dice.chance(0.3)) await this.#lookAt("held", 0.1);
    const old = [...this.#known.keys()];
    if (old.length > 0 && dice.chance(0.2)) this.#deal(dice.pick(old), "complete");
  }

  async #lookAt(status: "external" | "held", share: number): Promise<void> {
    const { dice } = this.#params;
    const page = await insist(this.#params, (client) => client.tasks.list({ status }), []);
    for (const { token, op } of page?.value.tasks ?? []) {
      if (token === undefined) continue;
      const again = this.mended && this.#ignored.delete(token);
      if ((this.#known.has(token) && !again) || !dice.chance(share)) continue;
      this.#known.set(token, op);
      this.#deal(token, this.mended ? "complete" : (dice.weighted(DEEDS) ?? "complete"));
    }
  }

  #deal(token: string, deed: keyof typeof DEEDS): void {
    if (deed === "ignore") return void this.#ignored.add(token);
    this.#busy += 1;
    this.#do(token, deed).then(
      () => {
        this.#busy -= 1;
      },
      (error: unknown) => {
        this.#busy -= 1;
        this.#params.complain(`${deed} ${token}: ${error}`);
      },
    );
  }

  async #do(token: string, deed: keyof typeof DEEDS): Promise<void> {
    const { time, dice } = this.#params;
    switch (deed) {
      case "fail":
        return this.#end(token, "fail");
      case "twice":
        await this.#end(token, "complete");
        return this.#end(token, "complete");
      case "both":
        await Promise.all([this.#end(token, "complete"), this.#end(token, "fail"), this.#end(token, "complete")]);
        return;
      case "late":
        await time.wait(dice.between(2_000, 15_000));
        return this.#end(token, "complete");
      case "beat":
        for (let i = 0; i < 2; i++) {
          await insist(this.#params, (client) => client.tasks.heartbeat(token, `beat ${++this.#values}`), [
            "task_closed",
          ]);
          await time.wait(dice.between(50, 500));
        }
        return this.#end(token, "complete");
      default:
        return this.#end(token, "complete");
    }
  }

  async #end(token: string, deed: Deed): Promise<void> {
    const { time, trace } = this.#params;
    const { runId, seq, epoch } = readToken(token) as TaskToken;
    const op = this.#known.get(token) as string;
    const value = deed === "complete" ? `${op}/${seq}.${epoch}/token/${++this.#values}` : undefined;
    const answer = await insist(
      this.#params,
      (client) =>
        value === undefined
          ? client.tasks.fail(token, new Error(`${op} was refused`))
          : client.tasks.complete(token, value),
      ["task_closed"],
    );
    const done = answer !== undefined;
    const isTrue = done ? this.#hasEnded(runId, seq, epoch, value) : !this.#isOpen(runId, seq, epoch);
    this.answers.push({ at: time.elapsedMs, runId, seq, epoch, op, deed, value, done, true: isTrue });
    trace.add(time.elapsedMs, "clerk", runId, `${deed} ${op} (${seq}.${epoch}): ${done ? "done" : "refused"}`);
  }

  #hasEnded(runId: string, seq: number, epoch: number, value: string | undefined): boolean {
    const end = this.#params.store.taskWatch.endOf(runId, seq, epoch);
    if (end?.by.type !== "token") return false;
    if (value === undefined) return end.result.type === "failed" || end.result.type === "retry";
    return end.result.type === "completed" && jsonCodec.decode(end.result.payload) === value;
  }

  #isOpen(runId: string, seq: number, epoch: number): boolean {
    const task = this.#params.store.memory.state.tasks.get(`${runId}/${seq}`);
    return task?.epoch === epoch && (task.status === "held" || task.status === "external");
  }
}
