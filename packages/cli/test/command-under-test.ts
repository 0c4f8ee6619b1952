// The command in this process, on a store of its own: what it prints, and its exit code.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { openServer } from "@holdfast/server";
import { type Client, connect, silentLogger } from "holdfast";
import pg from "pg";
import { expect } from "vitest";
import type { Io } from "../src/io/io.ts";
import { wait } from "../src/io/process-io.ts";
import { main } from "../src/main.ts";
import { asking, buggy, double, failing, mailing, order, sendMail } from "./sample-code.ts";

export const bin = fileURLToPath(new URL("../src/bin.ts", import.meta.url));
export const sampleCode = fileURLToPath(new URL("./sample-code.ts", import.meta.url));
/** How a process of the tests loads the sources. */
export const nodeArgs = ["--conditions=holdfast-source", "--import", import.meta.resolve("tsx")];

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** The JSON lines of standard output. */
  readonly records: readonly Record<string, unknown>[];
  /** The error of standard error, with `--json`. */
  readonly error: { readonly code: string; readonly kind: string; readonly message: string; readonly data: object };
}

export interface Around {
  readonly stdin?: string;
  /** Columns of a terminal that standard output is; undefined: it is a pipe. */
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly interrupted?: AbortSignal;
  readonly cwd?: string;
  readonly random?: () => number;
  readonly core?: Io["core"];
  /** Packages that are installed, by name. */
  readonly packages?: Readonly<Record<string, unknown>>;
}

export async function run(argv: readonly string[], around: Around = {}): Promise<Ran> {
  const texts = { out: "", err: "" };
  const append = (where: "out" | "err", text: string): void => {
    texts[where] += text;
  };
  const terminal = around.columns === undefined ? {} : { isTTY: true, columns: around.columns, rows: 40 };
  const io: Io = {
    stdin: Readable.from(around.stdin === undefined ? [] : [around.stdin]),
    stdout: { write: (text) => append("out", text), ...terminal },
    stderr: { write: (text) => append("err", text), ...terminal },
    env: { HOLDFAST_CONFIG_DIR: path.join(os.tmpdir(), "holdfast-no-such-folder"), ...around.env },
    cwd: around.cwd ?? process.cwd(),
    // tidy-allow: the command shows how long ago things happened in a real store
    now: () => Date.now(),
    wait,
    // tidy-allow: which worker is killed next does not matter
    random: around.random ?? (() => Math.random()),
    interrupted: around.interrupted ?? new AbortController().signal,
    core: around.core ?? (() => import("holdfast")),
    adapter: () => import("holdfast/adapter"),
    importFile: (file) => import(pathToFileURL(file).href),
    importPackage: async (name) => around.packages?.[name],
    self: { program: process.execPath, nodeArgs, bin },
  };
  const code = await main(argv, io);
  const { out, err } = texts;
  return {
    code,
    out,
    err,
    get records() {
      return linesOf(out).map((line) => JSON.parse(line));
    },
    get error() {
      return JSON.parse(linesOf(err).at(-1) ?? "null");
    },
  };
}

export function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

/** What the command is pointed at: a store, or a server in front of one. */
export const KINDS = ["SQLite", "PostgreSQL", "a server"] as const;
export type Kind = (typeof KINDS)[number];

/** A store with a worker that has the sample code. */
export class StoreUnderTest {
  readonly url: string;
  readonly hf: Client;
  readonly #remove: () => Promise<void>;

  private constructor(url: string, hf: Client, remove: () => Promise<void>) {
    this.url = url;
    this.hf = hf;
    this.#remove = remove;
  }

  static async open(kind: Kind): Promise<StoreUnderTest> {
    const { url, remove } = kind === "a server" ? await newServer() : newStore(kind);
    const hf = await connect(url, { logger: silentLogger });
    await hf
      .worker({ workflows: [order, double, failing, mailing, asking, buggy], tasks: [sendMail], name: "tests" })
      .start();
    return new StoreUnderTest(url, hf, remove);
  }

  /** `holdfast --url <this store> …`. */
  readonly holdfast = (...argv: string[]): Promise<Ran> => this.run(argv);
  readonly json = (...argv: string[]): Promise<Ran> => this.holdfast("--json", ...argv);

  run(argv: readonly string[], around: Around = {}): Promise<Ran> {
    return run(["--url", this.url, ...argv], { packages: { "@holdfast/remote": {} }, ...around });
  }

  async close(): Promise<void> {
    await this.hf.close();
    await this.#remove();
  }
}

/** What becomes true in a worker: a machine under load may take its time. */
export function eventually<T>(look: () => T | Promise<T>) {
  return expect.poll(look, { timeout: 20_000, interval: 20 });
}

let count = 0;

/** The URL of a store that is not there yet. */
export function newStore(kind: "SQLite" | "PostgreSQL"): {
  readonly url: string;
  readonly remove: () => Promise<void>;
} {
  if (kind === "SQLite") {
    const folder = newFolder();
    return {
      url: `file:${path.join(folder, "app.db")}`,
      remove: async () => rmSync(folder, { recursive: true, force: true }),
    };
  }
  count += 1;
  const url = new URL(process.env["HOLDFAST_TEST_POSTGRES_URL"] ?? "");
  const schema = `hf_cli_${process.pid}_${count}`;
  url.searchParams.set("schema", schema);
  const remove = async (): Promise<void> => {
    const admin = new pg.Client({ connectionString: process.env["HOLDFAST_TEST_POSTGRES_URL"] });
    await admin.connect();
    await admin.query("set client_min_messages = warning");
    await admin.query(`drop schema if exists "${schema}" cascade`);
    await admin.end();
  };
  return { url: url.toString(), remove };
}

/** The URL of a server on a SQLite file, where everybody may do everything. */
async function newServer(): Promise<ReturnType<typeof newStore>> {
  const { url: store, remove } = newStore("SQLite");
  const server = await openServer({ url: store, port: 0, logger: silentLogger });
  return {
    url: server.url,
    remove: async () => {
      await server.close();
      await remove();
    },
  };
}

export function newFolder(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-cli-"));
  mkdirSync(folder, { recursive: true });
  return folder;
}
