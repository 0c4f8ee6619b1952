import { expect, test } from "vitest";
import { TestDatabase } from "./test-database.ts";

test("a run that is gone has no lane, and leaves the lanes of its neighbors in their places", async () => {
  const database = await TestDatabase.create();
  const { store } = await database.open();
  await store.close();
  await database.sql(`set search_path = "${database.schema}"`);
  const lanesOf = async (namespaces: readonly (string | null)[], workflows: readonly string[]) => {
    const same = (value: unknown) => workflows.map(() => value);
    const [row] = await database.sql(`select o_lanes as lanes from ${database.name("lanes_of")}($1, $2, $3, $4, $5)`, [
      ...[namespaces, same("default"), workflows, same("1"), same(0)],
    ]);
    return row?.["lanes"];
  };
  const [a, b, c] = (await lanesOf(["x", "x", "y"], ["a", "b", "a"])) as number[];
  expect(new Set([a, b, c]).size).toBe(3);
  expect(await lanesOf([null, "x", "y", "x", null], ["a", "b", "a", "a", "b"])).toEqual([null, b, c, a, null]);
  await database.drop();
});
