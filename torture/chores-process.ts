// Does one chore in a separate process, for chores.test.ts, and dies on the way: before the n-th moment. Moments are the beginning and
// the end of the store call that the chore is or, on SQLite, the beginnings of its statements.
import { writeSync } from "node:fs";
import process from "node:process";
import { Connection } from "../packages/sqlite/src/database/connection.ts";
import { type Chore, doChore } from "./chores.ts";
import { openTortureClient } from "./torture-client.ts";

const [url = "", schema = "", chore = "", kind = "", dieAt = ""] = process.argv.slice(2);

let moments = 0;
let begun = false;
const pass = (): void => {
  moments += 1;
  if (moments === Number(dieAt)) process.kill(process.pid, "SIGKILL");
};

for (const name of [
  "get",
  "all",
  "columns",
  "allColumns",
  "execute",
  "run",
  "insert",
  "insertIfNew",
  "script",
] as const) {
  const original = Connection.prototype[name] as (this: unknown, ...given: unknown[]) => unknown;
  Reflect.set(Connection.prototype, name, function (this: unknown, ...given: unknown[]): unknown {
    if (kind === "statements" && begun) pass();
    return original.apply(this, given);
  });
}

const { store } = await openTortureClient(schema === "" ? { url } : { url, schema });
begun = true;
if (kind === "calls") pass();
await doChore(store, JSON.parse(chore) as Chore);
if (kind === "calls") pass();
writeSync(1, `${moments}\n`);
process.exit();
