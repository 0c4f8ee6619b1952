// Forks a run in a separate process, for forks.test.ts, and dies on the way: before the n-th moment. Moments are the beginnings and the
// ends of its store calls or, of the call that makes the fork, the beginnings of its SQL statements.
import { writeSync } from "node:fs";
import process from "node:process";
import { storeAround } from "holdfast/adapter";
import { Connection } from "../packages/sqlite/src/database/connection.ts";
import { FORK } from "./forks-workflow.ts";
import { openTortureClient } from "./torture-client.ts";

const [url = "", schema = "", origin = "", id = "", kind = "", dieAt = ""] = process.argv.slice(2);

let moments = 0;
const pass = (): void => {
  moments += 1;
  if (moments === Number(dieAt)) process.kill(process.pid, "SIGKILL");
};

let forking = false;
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
    if (kind === "statements" && forking) pass();
    return original.apply(this, given);
  });
}

const place = schema === "" ? { url } : { url, schema };
const { client } = await openTortureClient(place, {
  wrap: (store) =>
    storeAround(store, async (method, _params, call) => {
      forking = method === "runs.fork";
      if (kind === "calls") pass();
      const answer = await call();
      if (kind === "calls") pass();
      return answer;
    }),
});
const fork = await client.get(origin).fork({ ...FORK, id });
writeSync(1, `${fork.runId} ${moments}\n`);
process.exit();
