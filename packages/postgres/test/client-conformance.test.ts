import { clientConformance } from "@holdfast/conformance";
import { afterAll } from "vitest";
import { TestDatabase } from "./test-database.ts";

let shared: Promise<TestDatabase> | undefined;

clientConformance("PostgreSQL", async () => {
  shared ??= TestDatabase.create();
  const database = await shared;
  // Migrated once; each test leaves the tables empty.
  await (await database.open()).store.close();
  return { url: database.url(), close: () => database.empty() };
});

afterAll(async () => (await shared)?.drop());
