/** What lists of tasks read beside a backlog of tasks that nobody asks for. */
import { expect, test } from "vitest";
import { textFor } from "../src/database/server-call.ts";
import { LIST_TASKS } from "../src/tasks/listing.ts";
import { readsOf } from "./reads.ts";
import { TestDatabase } from "./test-database.ts";

const BACKLOG = 5_000;

test.each(["external", "dead"] as const)("a list of %s tasks does not read the backlog", async (status) => {
  const database = await TestDatabase.create();
  try {
    await (await database.open()).store.close();
    const name = (table: string): string => database.name(table);
    await database.sql(`insert into ${name("task_lanes")} (namespace, queue, name, requires, priority)
      values ('default', 'default', 'mail', '{}', 0), ('default', 'default', 'approval', '{}', 0)`);
    await database.sql(
      `insert into ${name("tasks")} (run_id, seq, input_seq, lane_id, epoch, op, secret, created_at, fail_on_crash, external, status)
       select ('01890000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, 1, 1, lane_id, 0, 'op', gen_random_uuid(), 1, false,
              false, case when i % 1000 = 0 then $1 else 'due' end::${name("task_status")}
         from generate_series(1, ${BACKLOG}) i, ${name("task_lanes")} where lane_id = case when i % 1000 = 0 then 2 else 1 end`,
      [status],
    );
    const values = LIST_TASKS.values({ namespace: "default", status, limit: 3 });
    await database.sql("begin");
    const { inSequence, byIndex } = await readsOf(database, textFor(LIST_TASKS, database.schema), values);
    const found = await database.sql(textFor(LIST_TASKS, database.schema), values);
    await database.sql("rollback");
    expect(found).toHaveLength(3);
    expect(inSequence + byIndex).toBeLessThan(40);
  } finally {
    await database.drop();
  }
});
