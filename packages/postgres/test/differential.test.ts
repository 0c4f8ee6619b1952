import { differential } from "@holdfast/conformance";
import { afterAll } from "vitest";
import { postgresUnderTest } from "./store-under-test.ts";
import { TestDatabase } from "./test-database.ts";

let database: Promise<TestDatabase> | undefined;

async function open() {
  database ??= TestDatabase.create();
  return postgresUnderTest(await database);
}

differential([{ name: "the PostgreSQL store", open }]);

afterAll(async () => (await database)?.drop());
