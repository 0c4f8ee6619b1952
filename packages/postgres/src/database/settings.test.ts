import { inspect } from "node:util";
import fc from "fast-check";
import { isHoldfastError } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { newClient, placeOf } from "./driver.ts";
import { quoteName, readSettings } from "./settings.ts";

const URL = "postgres://ann:s3cret@db.example:5433/app";

describe("the settings of a URL", () => {
  test("have defaults", () => {
    expect(readSettings(URL, {})).toEqual({
      connectionString: URL,
      schema: "holdfast",
      migrate: "auto",
      durability: "sync",
      notify: true,
      pooler: false,
      connectionsMax: 4,
      connectTimeoutMs: 10_000,
      statementTimeoutMs: 10_000,
      transactionsMax: 5,
      serverOptions: "",
      secrets: ["s3cret"],
    });
  });

  test("are taken out of it, and the rest is left to the driver", () => {
    const settings = readSettings(
      `${URL}?schema=flows&notify=false&connections=2&connect_timeout=3&statement_timeout=500&sslmode=verify-full&sslrootcert=%2Fca.pem`,
      {},
    );
    expect(settings).toMatchObject({ schema: "flows", notify: false, connectionsMax: 2, connectTimeoutMs: 3_000 });
    expect(settings).toMatchObject({ statementTimeoutMs: 500 });
    expect(settings.connectionString).toBe(`${URL}?sslmode=verify-full&sslrootcert=%2Fca.pem`);
  });

  test("an option has precedence over the URL", () => {
    expect(readSettings(`${URL}?schema=flows`, { schema: "other" })).toMatchObject({
      schema: "other",
      connectionString: URL,
    });
  });

  test("a transaction pooler takes neither notifications nor prepared statements", () => {
    expect(readSettings(`${URL}?pooler=transaction`, {})).toMatchObject({ pooler: true, notify: false });
  });

  test.each([
    ["notify=yes", 'the URL parameter notify is "yes"; it must be true or false.'],
    ["pooler=session", 'the URL parameter pooler is "session"; it must be none or transaction.'],
    ["connections=0", 'the URL parameter connections is "0"; it must be a whole number from 1 up.'],
    ["shema=flows", 'the URL has no parameter "shema". Did you mean schema?'],
    ["pgbouncer=true", 'the URL has no parameter "pgbouncer". It takes schema, notify'],
    ["schema=", 'the schema "" is empty'],
    ['schema=a"b', "contains a quotation mark"],
    ["schema=pg_catalog", "belongs to PostgreSQL itself"],
    [`schema=${"x".repeat(64)}`, "is longer than 63 bytes"],
  ])("%s is refused, without the password", (parameter, message) => {
    let caught: unknown;
    try {
      readSettings(`${URL}?${parameter}`, {});
    } catch (error) {
      caught = error;
    }
    expect(isHoldfastError(caught, "invalid_option")).toBe(true);
    expect((caught as Error).message).toContain(message);
    expect((caught as Error).message).not.toContain("s3cret");
  });
});

describe("a URL that is not sound", () => {
  const SECRET = "sEsAmEopen";

  test.each([
    [`postgres:bob:${SECRET}@host/db`, "it does not begin with postgres://"],
    [`postgres:/bob:${SECRET}@host/db`, "it does not begin with postgres://"],
    [`postgres://bob:p@${SECRET}?word@host/db`, "it has an @ in the wrong place"],
    [`postgres://bob:p@${SECRET}/word@host/db`, "it has an @ in the wrong place"],
    [`postgres://bob:${SECRET}host/db`, "it cannot be read"],
  ])("%s is refused, without its password", (url, why) => {
    const error = refusal(url);
    expect(error).toMatchObject({ code: "invalid_option", message: expect.stringContaining(why) });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET);
  });

  test("whatever it looks like, shows nothing of the password in the error or in what is shown of its settings", () => {
    const odd = fc.string({ unit: fc.constantFrom(..."@/?#:%[]&= \\\"'<>ab1"), maxLength: 6 });
    const url = fc
      .tuple(
        fc.constantFrom("postgres:", "postgres:/", "postgres://", "postgres:///", "postgresql://"),
        fc.constantFrom("bob:", "bob:bob:", ":", "bob::"),
        odd,
        odd,
        fc.constantFrom("@host", "@host:5432", "@", "@@host"),
        fc.constantFrom("", "/", "/db", "/db?schema=x", "?schema=x", "?shema=x"),
      )
      .map(([scheme, user, before, after, host, rest]) => `${scheme}${user}${before}${SECRET}${after}${host}${rest}`);
    fc.assert(
      fc.property(url, (mangled) => {
        try {
          const settings = readSettings(mangled, {});
          const client = newClient(settings);
          expect(placeOf(client, settings.secrets)).not.toContain(SECRET);
        } catch (error) {
          expect(isHoldfastError(error, "invalid_option")).toBe(true);
          expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET);
        }
      }),
      { numRuns: 3_000 },
    );
  });

  function refusal(url: string): unknown {
    try {
      return readSettings(url, {});
    } catch (error) {
      return error;
    }
  }
});

test("names are quoted", () => {
  expect(quoteName('a"b c')).toBe('"a""b c"');
});
