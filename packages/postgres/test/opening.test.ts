import net from "node:net";
import { inspect } from "node:util";
import type { Logger } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { serverUrl, TestDatabase } from "./test-database.ts";
import { TestProxy } from "./test-proxy.ts";

const SECRET = "pa55w0rd-of-ann";
let database: TestDatabase;

beforeEach(async () => {
  database = await TestDatabase.create();
});

afterEach(() => database.drop());

/** The error that opening fails with. No property of it may show the password. */
async function failure(url: string): Promise<{ readonly code: string; readonly message: string }> {
  const error = await database.open({ url }).then(
    () => Promise.reject(new Error("it was opened")),
    (caught) => caught,
  );
  const seen = inspect(error, { depth: 10, showHidden: true }) + error.stack + JSON.stringify(error);
  expect(seen).not.toContain(SECRET);
  expect(seen).not.toContain(encodeURIComponent(SECRET));
  return { code: error.code, message: error.message };
}

function urlWith(change: (url: URL) => void): string {
  return serverUrl((url) => {
    url.password = SECRET;
    change(url);
  });
}

describe("opening says what is wrong, where, and what to do", () => {
  test("no server listens there", async () => {
    const { code, message } = await failure(urlWith((url) => Object.assign(url, { port: "1" })));
    expect(code).toBe("store_unavailable");
    expect(message).toMatch(/^PostgreSQL at \S+:1\/\S+ as \S+: connection refused\. Start the server/);
  });

  test("the host is not known", async () => {
    const { code, message } = await failure(urlWith((url) => Object.assign(url, { hostname: "no-such-host.invalid" })));
    expect(code).toBe("store_unavailable");
    expect(message).toContain("no-such-host.invalid");
  });

  test("the socket does not exist", async () => {
    expect(await failure(`postgres://ann:${SECRET}@/app?host=/no/such/folder`)).toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("the socket does not exist"),
    });
  });

  test("a server accepts the connection and never answers", async () => {
    const mute = net.createServer(() => {});
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const { port } = mute.address() as net.AddressInfo;
    const url = `postgres://ann:${SECRET}@127.0.0.1:${port}/app?connect_timeout=1`;
    expect(await failure(url)).toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("no answer in time"),
    });
    mute.close();
  });

  test("the password is wrong", async (context) => {
    const url = urlWith(() => {});
    const open = await serverTrustsAnybody(url);
    // skip: a server that was named with HOLDFAST_TEST_POSTGRES_URL may not ask for passwords
    if (open) context.skip();
    expect(await failure(url)).toMatchObject({
      code: "store_refused",
      message: expect.stringContaining("Check the user and the password in the URL"),
    });
  });

  test("the password is missing", async (context) => {
    const url = serverUrl((changed) => Object.assign(changed, { password: "" }));
    // skip: a server that was named with HOLDFAST_TEST_POSTGRES_URL may not ask for passwords
    if (await serverTrustsAnybody(url)) context.skip();
    expect(await failure(url)).toMatchObject({
      code: "store_refused",
      message: expect.stringMatching(/the server asks for a password, but none is set\. Put one into the URL/),
    });
  });

  test("the role is missing", async () => {
    const url = urlWith((changed) => Object.assign(changed, { username: "no_such_role" }));
    expect(await failure(url)).toMatchObject({
      code: "store_refused",
      message: expect.stringContaining("Check the user and the password in the URL"),
    });
  });

  test("the database is missing", async () => {
    const { code, message } = await failure(serverUrl((url) => Object.assign(url, { pathname: "/no_such_database" })));
    expect(code).toBe("store_refused");
    expect(message).toContain('database "no_such_database" does not exist. Create the database');
  });

  test("transactions are read-only there", async () => {
    const options = "-c default_transaction_read_only=on";
    expect(await failure(database.url({ options }))).toMatchObject({
      code: "store_refused",
      message: expect.stringMatching(
        /transactions are read-only here \(default_transaction_read_only is on\)\. Remove the setting from/,
      ),
    });
  });

  test("the server does not speak TLS", async () => {
    expect(await failure(urlWith((url) => url.searchParams.set("sslmode", "verify-full")))).toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("sslmode"),
    });
  });

  test.each([
    `postgres://ann:${SECRET}@host:port:port/app`,
    // Special characters that were not encoded: what follows them would be read as a host, a database or a parameter.
    `postgres://ann:12/${SECRET}@127.0.0.1/app`,
    `postgres://ann:12?${SECRET}@127.0.0.1/app`,
    `postgres://ann:12#${SECRET}@127.0.0.1/app`,
    `postgres:ann:${SECRET}@127.0.0.1/app`,
    `postgres:/ann:${SECRET}@127.0.0.1/app`,
    `postgres://ann:p@${SECRET}?word@127.0.0.1/app`,
  ])("%#: the URL makes no sense", async (url) => {
    expect(await failure(url)).toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining("percent-encoded"),
    });
  });

  test("the user may be a password without its colon, and is not shown either", async () => {
    const url = serverUrl((changed) => Object.assign(changed, { username: SECRET, password: "" }));
    expect((await failure(url)).code).toMatch(/^store_/);
  });

  test("a file that the URL names is not there", async () => {
    const url = urlWith((changed) => changed.searchParams.set("sslrootcert", "/no/such/ca.pem"));
    expect(await failure(url)).toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining("/no/such/ca.pem"),
    });
  });
});

test("no log line shows the password", async () => {
  const lines: string[] = [];
  const note = (fields: object, message: string): void => void lines.push(inspect(fields, { depth: 10 }) + message);
  const log: Logger = { debug: note, info: note, warn: note, error: note };
  const proxy = await TestProxy.start();
  const { store } = await database.open({ log, url: proxy.through(database.url()) });
  await proxy.down();
  await expect(store.workers.list({ namespace: "default" })).rejects.toMatchObject({ code: "store_unavailable" });
  await store.close();
  expect(lines.join("\n")).toContain("migrated the schema");
  expect(lines.join("\n")).not.toContain(new URL(serverUrl()).password || SECRET);
});

test("several installations share a database", async () => {
  const other = await TestDatabase.create();
  const [{ store: one }, { store: two }] = [await database.open(), await other.open()];
  const labels = { namespace: "default", queues: [], workflows: [], labels: {}, leaseMs: 1_000 };
  await one.workers.register({ workerId: "01890000-0000-7000-8000-000000000001", name: "one", ...labels });
  expect(await two.workers.list({ namespace: "default" })).toEqual([]);
  await other.drop();
});

test("durability asks the server for what it promises", async () => {
  const setting = async (durability: "sync" | "async"): Promise<unknown> => {
    const { store } = await database.open({
      durability,
      parameters: { application_name: `hf ${durability}`, connections: "1" },
    });
    await store.workers.list({ namespace: "default" });
    await database.sql(`create or replace function ${database.name("now_ms")}() returns bigint language sql volatile
      as $$ select case current_setting('synchronous_commit') when 'off' then 0 else 1 end::bigint $$`);
    const { now } = await store.workers.heartbeat({
      namespace: "default",
      workerId: "01890000-0000-7000-8000-000000000001",
      leaseMs: 1,
      draining: false,
    });
    return now;
  };
  expect(await setting("sync")).toBe(1);
  expect(await setting("async")).toBe(0);
});

async function serverTrustsAnybody(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  const trusts = await client.connect().then(
    () => true,
    () => false,
  );
  if (trusts) await client.end();
  return trusts;
}
