// Names the types that an application holds, and lets the compiler write declarations for inferred types: both need
// types that can be imported. It is compiled and never executed.
import { inTransaction as joinPostgres, type Tx as PostgresTx, postgres } from "@holdfast/postgres";
import { type ApplicationDatabase, inTransaction, sqlite, type Tx, transaction } from "@holdfast/sqlite";
import {
  type AnyWorkflow,
  type Client,
  type ConnectOptions,
  type Context,
  connect,
  type Duration,
  type EventView,
  type Health,
  HoldfastError,
  type HoldfastErrorOptions,
  type InputOf,
  isHoldfastError,
  jsonCodec,
  type ListOptions,
  type Logger,
  type OutputOf,
  type RetryPolicy,
  type RunDescription,
  RunFailedError,
  type RunHandle,
  type RunPage,
  type RunStatus,
  type StepInfo,
  type StepOptions,
  type StepView,
  type StoreAdapter,
  signal,
  type Telemetry,
  type Why,
  type Worker,
  type WorkerOptions,
  workflow,
} from "holdfast";
import type { OpenedStore, OpenStoreOptions, Store } from "holdfast/adapter";
import { crashEverywhere, replay, type TestEngine, testEngine } from "holdfast/testing";

export const approve = signal<{ by: string }>("approve");

export const order = workflow({ name: "order", version: "2" }, async (ctx, input: { id: string; cents: number }) => {
  const options: StepOptions<string> = { retry: { attempts: 2, initial: "1s" }, compensate: (id) => void id };
  const payment = await ctx.step("charge", (step: StepInfo) => `${input.id} ${step.idempotencyKey}`, options);
  const approval = await ctx.receive(approve, { timeout: "3 days" });
  const parts = await ctx.parallel({ a: async (branch) => branch.step("a", () => 1), b: async () => "two" });
  const first = await ctx.race({ left: async () => 1, right: async () => "r" });
  const all = await ctx.parallel([async () => 1], { onError: "collect-all" });
  const total = await transaction(ctx, "total", (tx: Tx) => tx.get<{ n: number }>("select 1 as n")?.n ?? 0);
  return { payment, by: approval?.by, parts, first, all, total };
});

export type Order = OutputOf<typeof order>;
export const cents: InputOf<typeof order>["cents"] = 990;
export const wait: Duration = { minutes: 5 };
export const policy: RetryPolicy | undefined = undefined;

export async function open(adapter: StoreAdapter = sqlite(), options: ConnectOptions = {}): Promise<Client> {
  return connect("file:app.db", { codec: jsonCodec, ...options, adapters: [adapter, postgres()] });
}

export async function look(hf: Client, handle: RunHandle<Order>, list: ListOptions) {
  const page: RunPage = await hf.list(list);
  const description: RunDescription = await handle.describe();
  const status: RunStatus = await handle.status();
  const history: readonly EventView[] = await handle.history();
  const steps: readonly StepView[] = await handle.steps();
  const why: Why = await hf.why(handle.id);
  const health: Health = await hf.health();
  return { page, description, status, history, steps, why, health };
}

export function begin(hf: Client, options: WorkerOptions): Worker {
  return hf.worker({ ...options, workflows: [order satisfies AnyWorkflow] });
}

export async function startInside(hf: Client, db: ApplicationDatabase, tx: PostgresTx) {
  const here = await inTransaction(hf, db).start(order, { id: "o-1", cents });
  const there = await joinPostgres(hf, tx).start(order, { id: "o-2", cents });
  return [here, there] as const;
}

export class OutOfStock extends HoldfastError {
  constructor(message: string, options: HoldfastErrorOptions = {}) {
    super("application_error", message, options);
  }
}

export function explain(error: unknown): string {
  if (error instanceof RunFailedError) return error.data.id;
  return isHoldfastError(error) ? error.code : String(error);
}

export const telemetry: Telemetry = { count: () => {}, duration: () => {} };
export const logger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
export const helper = async (ctx: Context, name: string) => ctx.step(name, () => name.length);

export async function inTest(history: readonly EventView[]) {
  const engine: TestEngine = await testEngine({ workflows: [order] });
  const report = await crashEverywhere(order, { id: "o-1", cents });
  return { engine, report, replayed: await replay(order, history) };
}

export function storeOf(openStore: (url: string, options: OpenStoreOptions) => Promise<OpenedStore>, store: Store) {
  return { openStore, store };
}
