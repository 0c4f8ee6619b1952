import { accessConformance } from "@holdfast/conformance";
import type { AccessStore } from "holdfast/adapter";
import { afterAll } from "vitest";
import { TestDatabase } from "./test-database.ts";

let database: Promise<TestDatabase> | undefined;

accessConformance("the PostgreSQL store", async () => {
  database ??= TestDatabase.create();
  const db = await database;
  const { access } = await db.open();
  return { access: access as AccessStore, setClock: (ms) => db.setClock(ms), close: () => db.empty() };
});

afterAll(async () => (await database)?.drop());
