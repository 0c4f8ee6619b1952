import type { StoreUnderTest } from "@holdfast/conformance";
import type { Tx } from "../src/index.ts";
import type { TestDatabase } from "./test-database.ts";

/** An empty store in this schema; closing it empties the schema again, because migrating takes longer than most tests. */
export async function postgresUnderTest(database: TestDatabase): Promise<StoreUnderTest> {
  const first = await database.open();
  const texts = database.name("application_texts");
  await database.sql(`create table if not exists ${texts} (text text not null)`);
  await database.sql(`delete from ${texts}`);
  return {
    ...first,
    application: {
      kind: "postgres",
      write: async (tx, text) => void (await (tx as Tx).query(`insert into ${texts} values ($1)`, [text])),
      written: async () => (await database.sql(`select text from ${texts}`)).map((row) => row.text as string),
    },
    openSecond: () => database.open(),
    hintsReachOthers: true,
    setClock: (ms) => database.setClock(ms),
    close: () => database.empty(),
  };
}
