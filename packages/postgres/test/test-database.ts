/** A separate schema for each test, on the server that `npm test` was given or started. */
import process from "node:process";
import type { Clock, Logger, OpenedStore, StoreOptions } from "holdfast/adapter";
import { SeededSource, VirtualClock } from "holdfast/testing";
import pg from "pg";
import { openStore } from "../src/index.ts";
import type { PostgresNotifier } from "../src/notifier.ts";

export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** The server's URL, optionally with other parts. */
export function serverUrl(change: (url: URL) => void = () => {}): string {
  const given = process.env.HOLDFAST_TEST_POSTGRES_URL;
  if (!given) throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
  const url = new URL(given);
  change(url);
  return url.toString();
}

let count = 0;

const RUN_TABLES = ["runs", "run_starts", "run_attributes", "events", "segments", "inbox", "lanes", "versions"];
const OTHER_TABLES = [
  "tasks",
  "task_lanes",
  "workers",
  "worker_log",
  "rates",
  "departures",
  "identity",
  "arrivals",
  "children",
  "debts",
  "locks",
  "limited",
  "limited_keys",
  "queue_revisions",
  "lines",
  "places",
  "tenants",
  "access_keys",
  "audit",
  "debounces",
  "watches",
  "forks",
  "replies",
  "namespaces",
  "asks",
  "schedules",
  "retention",
  "leader",
];
const TABLES = [...RUN_TABLES, ...OTHER_TABLES];

export class TestDatabase {
  readonly schema: string;
  readonly #server: string;
  #admin: pg.Client;
  readonly #opened: OpenedStore[] = [];
  #hasClock = false;

  private constructor(schema: string, server: string, admin: pg.Client) {
    this.schema = schema;
    this.#server = server;
    this.#admin = admin;
  }

  static async create(server = serverUrl()): Promise<TestDatabase> {
    count += 1;
    const database = new TestDatabase(`hf test ${process.pid} ${count}`, server, await newAdmin(server));
    await database.#dropSchema();
    return database;
  }

  get admin(): pg.Client {
    return this.#admin;
  }

  /** Reconnects after the server was down, which also closed the test connection. */
  async reconnect(): Promise<void> {
    this.#admin = await newAdmin(this.#server);
  }

  url(parameters: Readonly<Record<string, string>> = {}): string {
    const url = new URL(this.#server);
    url.searchParams.set("schema", this.schema);
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.toString();
  }

  async open(options: OpenTestOptions = {}): Promise<OpenedStore & { readonly notifier: PostgresNotifier }> {
    const { parameters, url, clock, log, ...rest } = options;
    const opened = await openStore(url ?? this.url(parameters), {
      clock: clock ?? new VirtualClock(),
      random: new SeededSource(1),
      log: log ?? silent,
      ...rest,
    });
    this.#opened.push(opened);
    return opened as OpenedStore & { readonly notifier: PostgresNotifier };
  }

  /** From now on, the database's clock stands still. */
  async setClock(ms: number): Promise<void> {
    const table = this.name("test_clock");
    if (this.#hasClock) return void (await this.sql(`update ${table} set ms = ${ms}`));
    this.#hasClock = true;
    await this.sql(`create table ${table} (ms bigint)`);
    await this.sql(`insert into ${table} values (${ms})`);
    await this.sql(`create or replace function ${this.name("now_ms")}() returns bigint language sql volatile
      as 'select ms from ${table}'`);
  }

  name(object: string): string {
    return `"${this.schema}".${object}`;
  }

  async sql(text: string, values: unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    return (await this.admin.query(text, values)).rows;
  }

  /** Closes the stores and removes their data, but not the tables. */
  async empty(): Promise<void> {
    await this.#closeStores();
    // Not "truncate", which makes new files for every table and index, and takes longer than most tests.
    await this.sql(TABLES.map((table) => `delete from ${this.name(table)}`).join("; "));
  }

  async drop(): Promise<void> {
    await this.#closeStores();
    await this.#dropSchema();
    await this.admin.end();
  }

  async #closeStores(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map(({ store }) => store.close()));
  }

  async #dropSchema(): Promise<void> {
    await this.sql("set client_min_messages = warning");
    await this.sql(`drop schema if exists "${this.schema}" cascade`);
  }
}

async function newAdmin(server: string): Promise<pg.Client> {
  const admin = new pg.Client({ connectionString: server });
  // Without a listener, the server's end would end this process.
  admin.on("error", () => {});
  await admin.connect();
  return admin;
}

export interface OpenTestOptions extends StoreOptions {
  readonly parameters?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly clock?: Clock;
  readonly log?: Logger;
}
