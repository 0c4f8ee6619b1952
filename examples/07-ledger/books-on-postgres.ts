// The ledger's transactions on PostgreSQL: `tx` is a connection of `pg` with a transaction open on it.
import { transaction } from "@holdfast/postgres";
import { ACCOUNTS, type Audit, type Books, inOrder } from "./ledger.ts";

// There is no unique key against booking an entry twice: the audit must find it.
const TABLES = `
  create table if not exists ledger_accounts (
    ledger text, account text, balance int not null, primary key (ledger, account));
  create table if not exists ledger_entries (
    ledger text not null, transfer text not null, account text not null, cents int not null)`;

export const booksOnPostgres: Books = {
  open: (ctx, ledger) =>
    transaction(ctx, "open", async (tx) => {
      await tx.query(TABLES);
      await tx.query("insert into ledger_accounts select $1, unnest($2::text[]), 0", [ledger, ACCOUNTS]);
    }),

  book: (ctx, step, ledger, entries) =>
    transaction(ctx, step, async (tx) => {
      for (const { account, cents } of inOrder(entries)) {
        await tx.query("insert into ledger_entries values ($1, $2, $3, $4)", [ledger, ctx.info.id, account, cents]);
        await tx.query("update ledger_accounts set balance = balance + $1 where ledger = $2 and account = $3", [
          ...[cents, ledger, account],
        ]);
      }
    }),

  audit: (ctx, ledger) =>
    transaction(ctx, "audit", async (tx) => {
      const accounts = await tx.query<Audit["accounts"][number]>(
        `select account, balance, (select coalesce(sum(cents), 0)::int from ledger_entries e
           where e.ledger = a.ledger and e.account = a.account) as booked
         from ledger_accounts a where ledger = $1 order by account`,
        [ledger],
      );
      const { rows: transfers } = await tx.query<Audit["odd"][number]>(
        "select transfer, count(*)::int as entries from ledger_entries where ledger = $1 group by transfer",
        [ledger],
      );
      return {
        accounts: accounts.rows,
        entries: transfers.reduce((sum, { entries }) => sum + entries, 0),
        whole: transfers.filter(({ entries }) => entries === 4).length,
        odd: transfers.filter(({ entries }) => entries !== 4).slice(0, 10),
      };
    }),
};
