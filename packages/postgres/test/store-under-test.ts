import type { StoreUnderTest } from "@holdfast/conformance";
import type { TestDatabase } from "./test-database.ts";

/** An empty store in this schema; closing it empties the schema again, because migrating takes longer than most tests. */
export async function postgresUnderTest(database: TestDatabase): Promise<StoreUnderTest> {
  const first = await database.open();
  return {
    ...first,
    openSecond: () => database.open(),
    hintsReachOthers: true,
    setClock: (ms) => database.setClock(ms),
    close: () => database.empty(),
  };
}
