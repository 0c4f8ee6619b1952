import { afterEach, describe, expect, test, vi } from "vitest";
import { silentLogger } from "../ports/logger.ts";
import type { OpenStoreOptions } from "../ports/open-store.ts";
import { MemoryNotifier, MemoryStore, VirtualClock } from "../testing/index.ts";
import { connect } from "./connect.ts";

afterEach(() => {
  vi.doUnmock("@holdfast/sqlite");
  vi.doUnmock("@holdfast/postgres");
});

test.each([
  ["app.db", "the address has no scheme"],
  ["mysql://root:hunter2@db/app", '"mysql:" is not a store that Holdfast knows'],
  // A word that nobody knows may be a part of the password.
  ["hunter2:root@db/app", "the scheme of the address is none that Holdfast knows"],
  ["constructor:x", "the scheme of the address is none that Holdfast knows"],
  ["postgress://root:hunter2@db/app", 'Did you mean "postgres:"?'],
])("%s is refused with the URLs that work, and without its password", async (url, what) => {
  const error = await connect(url).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: "unknown_url_scheme" });
  const text = JSON.stringify(error) + String(error);
  expect(text).toContain(what.replaceAll('"', '\\"'));
  expect(text).toContain("file:app.db, postgres://user@host/database, memory: or memory:name");
  expect(text).not.toContain("hunter2");
});

describe.each([
  ["file:app.db", "file", "@holdfast/sqlite"],
  ["sqlite:app.db", "sqlite", "@holdfast/sqlite"],
  ["postgres://me:hunter2@db/app", "postgres", "@holdfast/postgres"],
  ["postgresql://me:hunter2@db/app", "postgresql", "@holdfast/postgres"],
])("%s", (url, scheme, packageName) => {
  test("names the package to install when it is missing", async () => {
    vi.doMock(packageName, () => {
      throw new Error("Cannot find package");
    });
    const error = await connect(url).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "adapter_not_installed", data: { scheme, packageName } });
    expect((error as Error).message).toBe(
      `connect: "${scheme}:" needs the package ${packageName}, which cannot be loaded here. Run: npm install ${packageName}`,
    );
    expect(JSON.stringify(error)).not.toContain("hunter2");
  });

  test("says so when the package is of another version", async () => {
    vi.doMock(packageName, () => ({ openStore: undefined }));
    await expect(connect(url)).rejects.toMatchObject({
      code: "adapter_not_installed",
      message: expect.stringContaining(`npm install ${packageName}@latest holdfast@latest`),
    });
  });

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
    const options = { migrate: "check", durability: "async", schema: "jobs" } as const;
    const client = await connect(url, { ...options, logger: silentLogger });
    expect(opened).toMatchObject([[url, { ...options, log: silentLogger }]]);
    await client.close();
  });
});
