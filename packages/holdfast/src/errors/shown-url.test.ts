import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hasCredentials, knownScheme, readServerUrl, secretsOf, shownUrl, withoutSecrets } from "./shown-url.ts";

const SECRET = "sEsAmEopen";

describe("a sound URL", () => {
  test.each([
    ["postgres://ann:pw@db.example:5433/app?schema=x", "postgres://db.example:5433/app"],
    ["postgresql://ann@db/app", "postgresql://db/app"],
    ["postgres://ann:p%40ss@[::1]:5432/app", "postgres://[::1]:5432/app"],
    ["postgres://ann:p@s:s@db/app", "postgres://db/app"],
    ["postgres:///app?host=/run/postgresql", "postgres:///app"],
    ["POSTGRES://db", "postgres://db"],
  ])("%s is shown as %s", (url, shown) => {
    expect(shownUrl(url)).toBe(shown);
  });

  test("is taken apart", () => {
    expect(readServerUrl("postgres://ann:p@s:s@db:1/app?a=b")).toEqual({
      ...{ scheme: "postgres", user: "ann", password: "p@s:s", host: "db", port: "1", database: "app" },
      parameters: "a=b",
    });
  });
});

describe("of any other URL", () => {
  test.each([
    [`postgres:bob:${SECRET}@host/db`, "postgres:"],
    [`postgres:/bob:${SECRET}@host/db`, "postgres:"],
    [`postgres://bob:p@${SECRET}?word@host/db`, "postgres:"],
    [`postgres://bob:p@${SECRET}/word@host/db`, "postgres:"],
    [`postgres://bob:p@${SECRET}#word@host/db`, "postgres:"],
    [`postgres://bob:${SECRET}host/db`, "postgres:"],
    [`mysql:bob:${SECRET}@host`, "mysql:"],
    [`${SECRET}:rest`, ""],
    [SECRET, ""],
    ["", ""],
  ])("%s nothing is shown but the scheme: %j", (url, shown) => {
    expect(shownUrl(url)).toBe(shown);
  });
});

/** A password around the secret, with whatever people forget to encode; and URLs that are mangled in other ways. */
const odd = fc.string({ unit: fc.constantFrom(..."@/?#:%[]&= \\\"'<>ab1"), maxLength: 6 });
const mangled = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        "",
        "postgres:",
        "postgres:/",
        "postgres://",
        "postgres:///",
        "postgres//",
        " postgres://",
        "mysql://",
      ),
      fc.constantFrom("bob:", "bob:bob:", ":", "bob::"),
      odd,
      odd,
      fc.constantFrom("@host", "@host:5432", "@", "@@host"),
      fc.constantFrom("", "/", "/db", "/db?schema=x", "?schema=x"),
    )
    .map(([scheme, user, before, after, host, rest]) => `${scheme}${user}${before}${SECRET}${after}${host}${rest}`),
  // Something is missing.
  fc.tuple(fc.nat(), fc.nat()).map(([from, length]) => {
    const [head, tail] = ["postgres://bob:", "@host:5432/db?schema=x"];
    const lost = 1 + (length % 3);
    const at = from % (head.length + tail.length - lost);
    const before = head.slice(0, at) + head.slice(at + lost);
    const cut = Math.max(0, at - head.length);
    return at >= head.length
      ? `${head}${SECRET}${tail.slice(0, cut)}${tail.slice(cut + lost)}`
      : `${before}${SECRET}${tail}`;
  }),
);

test("no mangled URL shows a part of its password", () => {
  fc.assert(
    fc.property(mangled, (url) => {
      const shown = shownUrl(url) + String(knownScheme(url));
      expect(shown.toLowerCase()).not.toContain(SECRET.toLowerCase());
      const parts = readServerUrl(url);
      // A name without a password may be a password without its colon.
      if (parts?.user.includes(SECRET) || parts?.password.includes(SECRET))
        expect(secretsOf(parts).some((secret) => secret.includes(SECRET))).toBe(true);
    }),
    { numRuns: 5_000 },
  );
});

test("what a server quotes is hidden when it is a secret, also when it was cut", () => {
  const long = "x".repeat(70);
  expect(withoutSecrets('role "sesame" does not exist', ["sesame"])).toBe('role "[hidden]" does not exist');
  expect(withoutSecrets(`role "${long.slice(0, 63)}" does not exist`, [long])).toBe('role "[hidden]" does not exist');
  expect(withoutSecrets('database "a" of a', ["b"])).toBe('database "a" of a');
});

test("a path may hold an @, but nothing that looks like a password", () => {
  expect(hasCredentials("/data/@scope/app.db")).toBe(false);
  expect(hasCredentials("D:\\data@home\\app.db")).toBe(false);
  expect(hasCredentials("//bob:sesame@host/app.db")).toBe(true);
  expect(hasCredentials("bob:se/same@host/app.db")).toBe(true);
});
