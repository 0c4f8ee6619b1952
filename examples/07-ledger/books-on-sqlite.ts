// The ledger's transactions on SQLite: everything is synchronous, without a promise.
import { transaction } from "@holdfast/sqlite";
import { ACCOUNTS, type Audit, type Books, inOrder } from "./ledger.ts";

// There is no unique key against booking an entry twice: the audit must find it.
const TABLES = [
  `create table if not exists ledger_accounts (
     ledger text, account text, balance integer not null, primary key (ledger, account)) strict`,
  `create table if not exists ledger_entries (
     ledger text not null, transfer text not null, account text not null, cents integer not null) strict`,
];

export const booksOnSqlite: Books = {
  open: (ctx, ledger) =>
    transaction(ctx, "open", (tx) => {
      for (const table of TABLES) tx.run(table);
      for (const account of ACCOUNTS) tx.run("insert into ledger_accounts values (?, ?, 0)", ledger, account);
    }),

  book: (ctx, step, ledger, entries) =>
    transaction(ctx, step, (tx) => {
      for (const { account, cents } of inOrder(entries)) {
        tx.run("insert into ledger_entries values (?, ?, ?, ?)", ledger, ctx.info.id, account, cents);
        tx.run(
          "update ledger_accounts set balance = balance + ? where ledger = ? and account = ?",
          ...[cents, ledger, account],
        );
      }
    }),

  audit: (ctx, ledger) =>
    transaction(ctx, "audit", (tx) => {
      const accounts = tx.all<Audit["accounts"][number]>(
        `select account, balance, (select coalesce(sum(cents), 0) from ledger_entries e
           where e.ledger = a.ledger and e.account = a.account) as booked
         from ledger_accounts a where ledger = ? order by account`,
        ledger,
      );
      const transfers = tx.all<Audit["odd"][number]>(
        "select transfer, count(*) as entries from ledger_entries where ledger = ? group by transfer",
        ledger,
      );
      return {
        accounts,
        entries: transfers.reduce((sum, { entries }) => sum + entries, 0),
        whole: transfers.filter(({ entries }) => entries === 4).length,
        odd: transfers.filter(({ entries }) => entries !== 4).slice(0, 10),
      };
    }),
};
