/** `npm run bench -- limit | idle | sleepers | cold [--store sqlite,postgres] [--quick] [--json]` */
import { parseArgs } from "node:util";
import { coldClaim } from "./cold-claim.ts";
import { idle } from "./idle.ts";
import { limit } from "./limit.ts";
import { printTable, type Row } from "./report.ts";
import { sleepers } from "./sleepers.ts";
import { type StoreName, stopServers } from "./stores.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: "string", default: "sqlite,postgres" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

const stores = values.store.split(",") as StoreName[];
const { quick } = values;
const say = (line: string): void => void (values.json || console.error(`  ${line}`));

const benches: Readonly<Record<string, (store: StoreName) => Promise<Row[]>>> = {
  limit: (store) =>
    limit(
      store,
      quick
        ? { runs: 200, steps: 10, live: 100, repetitions: 1 }
        : { runs: 5_000, steps: 10, live: 500, repetitions: 5 },
      say,
    ),
  idle: async (store) => (store === "postgres" ? idle(quick ? 5 : 60, quick ? 1_000 : 100_000, say) : []),
  sleepers: (store) => sleepers(store, quick ? 200 : 100_000, say),
  cold: (store) => coldClaim(store, quick ? 500 : 10_000),
};

const wanted = positionals.length > 0 ? positionals : Object.keys(benches);
const unknown = wanted.filter((name) => !Object.hasOwn(benches, name));
if (unknown.length > 0) {
  console.error(`There is no bench called ${unknown.join(", ")}. Choose from: ${Object.keys(benches).join(", ")}.`);
  process.exit(2);
}

try {
  const rows: Row[] = [];
  for (const name of wanted) for (const store of stores) rows.push(...((await benches[name]?.(store)) ?? []));
  if (values.json) console.log(JSON.stringify(rows, null, 2));
  else printTable(rows);
} finally {
  await stopServers();
}
