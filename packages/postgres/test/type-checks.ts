// What must not compile. Nothing here is executed.
import { type Tx, transaction } from "@holdfast/postgres";
import type { Context } from "holdfast";

class Row {
  readonly id = 1;
  show(): string {
    return `row ${this.id}`;
  }
}

export async function transactionsThatDoNotCompile(ctx: Context): Promise<void> {
  // @ts-expect-error what comes back from the store has no methods
  (await transaction(ctx, "read", async () => new Row())).show();
  // @ts-expect-error the columns of a row are unknown until they are named
  (await transaction(ctx, "read", async (tx) => (await tx.query("select 1 as n")).rows[0]?.n)).toFixed();
  // @ts-expect-error there is no such unit
  await transaction(ctx, "read", async () => 1, { timeout: "1 secnd" });
  // @ts-expect-error a transaction happens exactly once, so it has no onCrash
  await transaction(ctx, "read", async () => 1, { onCrash: "fail" });
}

export async function generic<T>(ctx: Context, fn: (tx: Tx) => Promise<T>): Promise<T> {
  return transaction(ctx, "generic", fn, { compensate: (result) => result });
}
