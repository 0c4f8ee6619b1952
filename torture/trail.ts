/** How the code of the torture workflows keeps track of what it has seen, and what that amounts to. */
import { createHash } from "node:crypto";
import type {
  ChildOptions,
  CompensationInfo,
  Context,
  StepOptions,
  TaskCallOptions,
  TaskDefinition,
  WorkflowDefinition,
} from "holdfast";
import { type EffectPlan, type EffectResult, perform } from "./effect.ts";
import { nudge } from "./workload.ts";

/** The code's record of what it has seen: every effect carries it, so that it can be checked against history. */
export class Trail {
  readonly seen: string[];
  readonly values: string[];

  constructor(seen: readonly string[] = [], values: readonly string[] = []) {
    this.seen = [...seen];
    this.values = [...values];
  }

  async step(ctx: Context, name: string, plan: Plan = {}, options: StepOptions<EffectResult> = {}): Promise<string> {
    const seen = [...this.seen];
    const value = digest([name, ...this.values]);
    const result = await ctx.step(name, (s) => perform({ dwellMs: 3, ...plan, value, seen, attempt: s.attempt }), {
      retry: { attempts: 4, fixed: "60ms" },
      ...options,
      ...(plan.undoable ? { compensate: (_result: unknown, c: CompensationInfo) => this.#undo(name, c) } : {}),
    });
    this.seen.push(result.token);
    this.values.push(result.value);
    return result.value;
  }

  /** The answer of an external task, which has no plan, says by itself what it is worth. */
  async task(
    ctx: Context,
    definition: TaskDefinition<TaskPlan, EffectResult>,
    plan: Plan = {},
    options: TaskCallOptions<EffectResult> = {},
  ): Promise<string> {
    const { name } = definition;
    const input: TaskPlan = {
      dwellMs: 3,
      ...plan,
      value: digest([name, ...this.values]),
      seen: [...this.seen],
    };
    const result = await ctx.task(definition, input, {
      ...options,
      ...(plan.undoable ? { compensate: (_result: unknown, c: CompensationInfo) => this.#undo(name, c) } : {}),
    });
    this.seen.push(result.token);
    this.values.push(result.value);
    return result.value;
  }

  async sleep(ctx: Context, name: string, ms: number): Promise<void> {
    await ctx.sleep(name, { milliseconds: ms });
    this.seen.push(`timer:${name}`);
  }

  async receive(ctx: Context): Promise<void> {
    const { text, token } = await ctx.receive(nudge);
    this.seen.push(token);
    this.values.push(text);
  }

  /** A child whose output names it. With `undoable`, it is undone if the run does not complete. */
  async child<I>(
    ctx: Context,
    definition: WorkflowDefinition<I, Grown>,
    input: I,
    { undoable, ...options }: ChildOptions<Grown> & { readonly undoable?: boolean } = {},
  ): Promise<string> {
    const { name } = definition;
    const undo = (_result: unknown, c: CompensationInfo) => this.#undo(name, c);
    const all = { ...options, ...(undoable ? { compensate: undo } : {}) };
    const result = await (ctx.child as ChildCall)(definition, input, all);
    this.note(result);
    return result.value;
  }

  /** What the code has seen in another way. */
  note(...seen: readonly Grown[]): void {
    for (const { token, value } of seen) {
      this.seen.push(token);
      this.values.push(value);
    }
  }

  get output(): string {
    return digest(this.values);
  }

  #undo(name: string, c: CompensationInfo): Promise<EffectResult> {
    return perform({ value: `undone ${name}`, seen: [...this.seen], attempt: c.attempt, dwellMs: 3 });
  }
}

/** What a child returns: it says what it is worth, and which run it was. */
export type Grown = EffectResult;

type ChildCall = <I>(
  definition: WorkflowDefinition<I, Grown>,
  input: I,
  options: ChildOptions<Grown>,
) => Promise<Grown>;

export type Plan = Omit<EffectPlan, "value" | "seen" | "attempt" | "during">;

/** The input of a task. */
export type TaskPlan = Omit<EffectPlan, "attempt" | "during">;

export function digest(parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("|")).digest("hex").slice(0, 12);
}

/** What a chain of steps and signals amounts to: names of steps, or texts of signals after a colon. */
export function outputOf(names: readonly string[]): string {
  const values: string[] = [];
  for (const name of names) values.push(name.startsWith(":") ? name.slice(1) : digest([name, ...values]));
  return digest(values);
}
