import { storeConformance } from "@holdfast/conformance";
import { afterAll } from "vitest";
import { postgresUnderTest } from "./store-under-test.ts";
import { TestDatabase } from "./test-database.ts";

let database: Promise<TestDatabase> | undefined;

storeConformance("the PostgreSQL store", async () => {
  database ??= TestDatabase.create();
  return postgresUnderTest(await database);
});

afterAll(async () => (await database)?.drop());
