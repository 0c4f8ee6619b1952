// A double-entry ledger that balances to the cent, however often its workers are killed:
//   npm start 07-ledger                             20 kills, on a fresh SQLite file
//   npm start 07-ledger -- --kills 500
//   npm start 07-ledger -- --kills 500 postgres://user:password@host/database
// Ends with exit code 1 if a single cent is lost, or booked twice.
import process from "node:process";
import { parseArgs } from "node:util";
import { type Client, connect } from "holdfast";
import { Fleet } from "./fleet.ts";
import { ACCOUNTS, type Account, type Audit, BANK, FEE_CENTS, type Transfer } from "./ledger.ts";
import { openPlace, workflowsFor } from "./store.ts";

const WORKERS = 3;
const CUSTOMERS = 20;

const { values, positionals } = parseArgs({
  options: { kills: { type: "string", default: "20" } },
  allowPositionals: true,
});
const kills = Number(values.kills);
const place = openPlace(positionals[0]);
const { open, transfer, audit } = workflowsFor(place.url);
const ledger = `ledger-${Date.now()}`;

console.log(`A ledger in ${place.name}.`);
console.log(
  `${CUSTOMERS} customers transfer money, ${WORKERS} workers do it, and ${kills} of these are killed (SIGKILL).\n`,
);

const began = performance.now();
const hf = await connect(place.url);
const fleet = new Fleet(place.url);
await fleet.start(WORKERS);
await hf.run(open, ledger, { id: ledger });

const transfers: Transfer[] = [];
let done = 0;
let over = false;
const customers = Promise.all(Array.from({ length: CUSTOMERS }, () => beCustomer(hf)));
const each = Math.max(1, Math.round(kills / 10));
await fleet.killAtRandom(kills, () => {
  if (fleet.kills % each === 0 || fleet.kills === kills) tellProgress();
});
over = true;
await customers;
console.log(`\nAll ${transfers.length} transfers have ended. The audit:\n`);
const right = tellAudit(await hf.run(audit, ledger, { id: `${ledger}-audit` }));
await hf.close();
await fleet.dismiss();
place.leave();
console.log(right ? "\nThe books balance, to the cent." : "\nTHE BOOKS DO NOT BALANCE.");
process.exitCode = right ? 0 : 1;

/** Requests a transfer, waits for its end, and requests the next. */
async function beCustomer(hf: Client): Promise<void> {
  while (!over) {
    const [from, to] = Math.random() < 0.5 ? (["alice", "bob"] as const) : (["bob", "alice"] as const);
    const order: Transfer = { ledger, from, to, cents: 1 + Math.floor(Math.random() * 10_000) };
    transfers.push(order);
    const run = await hf.start(transfer, order, { id: `${ledger}-${transfers.length}` });
    await run.result();
    done += 1;
  }
}

function tellProgress(): void {
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(`${count(fleet.kills)} killed, ${count(done)} transfers done, after ${seconds} s`);
}

/** Compares the books with what the customers requested. */
function tellAudit({ accounts, entries, whole, odd }: Audit): boolean {
  const checks = [
    line("entries", entries, transfers.length * 4),
    line("transfers with their four entries", whole, transfers.length),
    line("sum of all entries, in cents", sum(accounts.map(({ booked }) => booked)), 0),
    ...ACCOUNTS.flatMap((name) => {
      const found = accounts.find(({ account }) => account === name);
      const expected = expectedBalance(name);
      return [line(`${name}: entries`, found?.booked, expected), line(`${name}: balance`, found?.balance, expected)];
    }),
  ];
  for (const { transfer, entries } of odd) console.log(`  ${transfer} has ${entries} entries instead of 4`);
  return checks.every((ok) => ok);
}

function line(what: string, found: number | undefined, expected: number): boolean {
  const ok = found === expected;
  console.log(`  ${ok ? "ok   " : "WRONG"}  ${what.padEnd(34)}${count(found)}${ok ? "" : ` instead of ${expected}`}`);
  return ok;
}

function expectedBalance(account: Account): number {
  if (account === BANK) return transfers.length * FEE_CENTS;
  return sum(
    transfers.map(({ from, to, cents }) => (to === account ? cents : 0) - (from === account ? cents + FEE_CENTS : 0)),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function count(number: number | undefined): string {
  return (number ?? Number.NaN).toLocaleString("en-US").padStart(11);
}
