import { afterEach, describe, expect, test, vi } from "vitest";
import { silentLogger } from "../ports/logger.ts";
import type { OpenStoreOptions, StoreAdapter } from "../ports/open-store.ts";
import { MemoryNotifier, MemoryStore, VirtualClock } from "../testing/index.ts";
import { connect } from "./connect.ts";

afterEach(() => {
  vi.doUnmock("@holdfast/sqlite");
  vi.doUnmock("@holdfast/postgres");
  vi.doUnmock("@holdfast/remote");
});

test.each([
  ["app.db", "the URL has no scheme"],
  ["mysql://root:hunter2@db/app", '"mysql:" is not a scheme that Holdfast knows'],
  // A word that nobody knows may be a part of the password.
  ["hunter2:root@db/app", "Holdfast does not know the scheme of this URL"],
  ["constructor:x", "Holdfast does not know the scheme of this URL"],
  ["postgress://root:hunter2@db/app", 'Did you mean "postgres:"?'],
])("%s is refused with the URLs that work, and without its password", async (url, what) => {
  const error = await connect(url).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: "unknown_url_scheme" });
  const text = JSON.stringify(error) + String(error);
  expect(text).toContain(what.replaceAll('"', '\\"'));
  expect(text).toContain("file:app.db, postgres://user@host/database, https://host:7433, memory: or memory:name");
  expect(text).not.toContain("hunter2");
});

test.each([{}, "sqlite", [{}], null])(
  "adapters that are no list of adapters are refused for any URL: %j",
  async (adapters) => {
    for (const url of ["memory:", "file:app.db"])
      await expect(connect(url, { adapters: adapters as never })).rejects.toMatchObject({
        code: "invalid_option",
        message: expect.stringMatching(/^connect: .*adapters/),
      });
  },
);

describe.each([
  ["file:app.db", "@holdfast/sqlite"],
  ["sqlite:app.db", "@holdfast/sqlite"],
  ["postgres://me:hunter2@db/app", "@holdfast/postgres"],
  ["postgresql://me:hunter2@db/app", "@holdfast/postgres"],
  ["http://127.0.0.1:7433", "@holdfast/remote"],
  ["https://holdfast.example:7433", "@holdfast/remote"],
])("%s", (url, packageName) => {
  test("is given to the package, with the options of the store", async () => {
    const clock = new VirtualClock();
    const notifier = new MemoryNotifier(clock);
    const store = new MemoryStore({ clock, notifier });
    const opened: [string, OpenStoreOptions][] = [];
    const openStore = async (given: string, options: OpenStoreOptions) => {
      opened.push([given, options]);
      return { store, notifier };
    };
    vi.doMock(packageName, () => ({ openStore }));
    const server = { token: "hf_1", tls: { servername: "db" } };
    const options = { migrate: "check", durability: "async", schema: "jobs", ...server } as const;
    const client = await connect(url, { ...options, logger: silentLogger });
    expect(opened).toMatchObject([[url, { ...options, log: silentLogger }]]);
    await client.close();
  });
});

test.each<[string, object]>([
  ["token", { token: "hunter2 hunter2" }],
  ["token", { token: "" }],
  ["token", { token: 7 }],
  ["tls.key", { tls: { key: 7 } }],
  ["tls.servername", { tls: { servername: "" } }],
])("an odd %s is refused for any URL, and not shown", async (option, options) => {
  const error = await connect("memory:", options).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: "invalid_option", data: { option } });
  expect(String(error)).toContain(`connect: ${option} must be`);
  expect(String(error)).not.toContain("hunter2");
});

test("an adapter that is handed over opens the URL, with the options of the store", async () => {
  const clock = new VirtualClock();
  const notifier = new MemoryNotifier(clock);
  const store = new MemoryStore({ clock, notifier });
  const opened: [string, OpenStoreOptions][] = [];
  const adapter: StoreAdapter = {
    name: "my-store",
    schemes: ["mine"],
    openStore: async (url, options) => {
      opened.push([url, options]);
      return { store, notifier };
    },
  };
  const client = await connect("MINE:app", { adapters: [adapter], durability: "async", logger: silentLogger });
  expect(opened).toMatchObject([["MINE:app", { durability: "async", log: silentLogger }]]);
  await client.close();
});
