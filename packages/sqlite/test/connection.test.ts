import { expect, test } from "vitest";
import { Connection } from "../src/database/connection.ts";
import { type Database, openDatabase, type Statement } from "../src/database/driver.ts";

const TABLE = "create table t (a integer, b text)";
const INSERT = "insert into t values (?, ?)";
const SELECT = "select a, b, a + 1 as c from t order by a";
const ROWS = [
  [1, "x", 2],
  [2, null, 3],
];

test("rows come as columns in their order, whether or not the driver knows arrays", async () => {
  for (const wrap of [(statement: Statement) => statement, withoutArrays]) {
    const db = await openDatabase(":memory:");
    const sql = new Connection(preparing(db, wrap));
    sql.script(TABLE);
    sql.execute(INSERT, 1, "x");
    sql.execute(INSERT, 2, null);
    expect(sql.allColumns(SELECT)).toEqual(ROWS);
    expect(sql.columns(SELECT)).toEqual(ROWS[0]);
    expect(sql.columns("select a from t where a > 2")).toBeUndefined();
    expect(sql.get(SELECT)).toMatchObject({ a: 1, b: "x", c: 2 });
    db.close();
  }
});

test("an application's driver may refuse to answer rows for a statement that has none", async () => {
  const db = await openDatabase(":memory:");
  const sql = new Connection(preparing(db, strict), { quick: false });
  sql.script(TABLE);
  sql.execute(INSERT, 1, "x");
  sql.execute(INSERT, 2, null);
  expect(sql.allColumns(SELECT)).toEqual(ROWS);
  db.close();
});

function preparing(db: Database, wrap: (statement: Statement, sql: string) => Statement): Database {
  return {
    exec: (sql) => void db.exec(sql),
    prepare: (sql) => wrap(db.prepare(sql), sql),
    close: () => void db.close(),
  };
}

function withoutArrays(statement: Statement): Statement {
  return {
    run: (...values) => statement.run(...values),
    get: (...values) => statement.get(...values),
    all: (...values) => statement.all(...values),
  };
}

function strict(statement: Statement, sql: string): Statement {
  if (sql.startsWith("select")) return withoutArrays(statement);
  const refuse = (): never => {
    throw new TypeError("This statement does not return data. Use run() instead");
  };
  return { run: (...values) => statement.run(...values), get: refuse, all: refuse };
}
