// A double-entry ledger: money that leaves one account arrives in another, in the same transaction. The workflows are
// the same on every store; books-on-sqlite.ts and books-on-postgres.ts have their transactions.
import { type Context, workflow } from "holdfast";

export const BANK = "bank";
export const ACCOUNTS = ["alice", "bob", BANK] as const;
export const FEE_CENTS = 25;

export type Account = (typeof ACCOUNTS)[number];

export interface Transfer {
  readonly ledger: string;
  readonly from: Account;
  readonly to: Account;
  readonly cents: number;
}

/** Two of these form a pair; their sum is 0. */
export interface Entry {
  readonly account: Account;
  readonly cents: number;
}

/** What is in the books at the end. */
export interface Audit {
  readonly accounts: readonly { readonly account: string; readonly balance: number; readonly booked: number }[];
  readonly entries: number;
  /** Transfers with the four entries that each should have. */
  readonly whole: number;
  /** Some of the transfers with another number of entries. */
  readonly odd: readonly { readonly transfer: string; readonly entries: number }[];
}

/** The transaction steps, on one kind of store. */
export interface Books {
  open(ctx: Context, ledger: string): Promise<void>;
  book(ctx: Context, step: string, ledger: string, entries: readonly Entry[]): Promise<void>;
  audit(ctx: Context, ledger: string): Promise<Audit>;
}

export function workflowsOn(books: Books) {
  const open = workflow("open ledger", (ctx, ledger: string) => books.open(ctx, ledger));

  const transfer = workflow("transfer", async (ctx, { ledger, from, to, cents }: Transfer) => {
    await books.book(ctx, "move", ledger, [
      { account: from, cents: -cents },
      { account: to, cents },
    ]);
    const [receipt] = await Promise.all([
      ctx.step("print receipt", () => `${from} gave ${to} ${cents} cents`),
      books.book(ctx, "fee", ledger, [
        { account: from, cents: -FEE_CENTS },
        { account: BANK, cents: FEE_CENTS },
      ]),
    ]);
    return receipt;
  });

  const audit = workflow("audit ledger", (ctx, ledger: string) => books.audit(ctx, ledger));

  return { open, transfer, audit };
}

/** Every transaction locks accounts in the same order, so that no two transfers deadlock. */
export function inOrder(entries: readonly Entry[]): Entry[] {
  return [...entries].sort((a, b) => a.account.localeCompare(b.account));
}
