// What must compile and what must not. Nothing here is executed.
import { inTransaction, type Tx, transaction } from "@holdfast/sqlite";
import { DatabaseSync } from "@photostructure/sqlite";
import { type Client, type Context, workflow } from "holdfast";

const echo = workflow("echo", async (_ctx, n: number) => n);

class Row {
  readonly id = 1;
  show(): string {
    return `row ${this.id}`;
  }
}

export async function transactionsThatCompile(hf: Client, ctx: Context): Promise<void> {
  const db = new DatabaseSync("orders.db");
  await inTransaction(hf, db).start(echo, 1);
  const [one] = await inTransaction(hf, db).startMany([{ workflow: echo, input: 1 }]);
  (await one.result()).toFixed();
  const cents = await transaction(ctx, "read", (tx) => tx.get<{ cents: number }>("select 5 as cents")?.cents);
  cents?.toFixed();
  await generic(ctx, (tx) => tx.all("select 1"));
}

async function generic<T>(ctx: Context, fn: (tx: Tx) => T extends PromiseLike<unknown> ? never : T): Promise<T> {
  return transaction(ctx, "generic", fn, { timeout: "1s" });
}

export async function transactionsThatDoNotCompile(hf: Client, ctx: Context): Promise<void> {
  const db = new DatabaseSync("orders.db");
  // @ts-expect-error the input is missing
  await inTransaction(hf, db).start(echo);
  // @ts-expect-error the function must be synchronous
  await transaction(ctx, "read", async (tx) => tx.get("select 1"));
  // @ts-expect-error a transaction happens exactly once, so it has no onCrash
  await transaction(ctx, "read", (tx) => tx.get("select 1"), { onCrash: "fail" });
  // @ts-expect-error there is no such unit
  await transaction(ctx, "read", (tx) => tx.get("select 1"), { timeout: "1 secnd" });
  // @ts-expect-error what comes back from the store has no methods
  (await transaction(ctx, "read", () => new Row())).show();
}
