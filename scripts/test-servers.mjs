// The servers that tests need. PostgreSQL: HOLDFAST_TEST_POSTGRES_URL if set; else a throw-away server in a temporary
// folder, from the programs that postgres-binaries.mjs finds or installs. Prometheus: a test starts it, with the programs that
// prometheus-binaries.mjs finds or unpacks.
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { findBinaries, findOrInstallBinaries, howToGetPostgres, serverUser } from "./postgres-binaries.mjs";

export { findOrUnpackPrometheus } from "./prometheus-binaries.mjs";
export { findOrUnpackPythonGrpc } from "./python-grpc.mjs";
export { findOrUnpackShell } from "./shells.mjs";

const VARIABLE = "HOLDFAST_TEST_POSTGRES_URL";
const FOLDER_PREFIX = "holdfast-postgres-";

/**
 * Returns where the servers are, the same as environment variables for the tests, and how to stop what was started.
 * Tests run without fsync: correctness does not depend on what survives a power failure of the test machine.
 * Measurements use fsync.
 */
export async function startServers({ fsync = false, settings = {}, sources } = {}) {
  const given = process.env[VARIABLE];
  if (given) return { postgresUrl: given, env: {}, stop() {} };
  const bin = findOrInstallBinaries(sources);
  removeAbandoned(bin);
  const server = await startPostgres(bin, { ...settings, ...(fsync ? {} : { fsync: "off", full_page_writes: "off" }) });
  return { postgresUrl: server.url, env: { [VARIABLE]: server.url }, stop: server.stop };
}

/** False if a URL was given because there are no binaries. */
export function canStartOwnServer() {
  return findBinaries() !== undefined;
}

/** Whether such a server can get a small disk: root may mount one that only the server sees. */
export function canMountSmallDisk() {
  if (process.getuid?.() !== 0 || spawnSync("setpriv", ["--version"]).status !== 0) return false;
  return spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "tmpfs", os.tmpdir()]).status === 0;
}

/**
 * A server for one test alone, which can be killed and restarted during the test. Optionally with a small disk of
 * `smallDiskMiB`, for a tablespace; the disk is gone with the server.
 */
export async function startOwnServer(settings = {}, { smallDiskMiB = 0 } = {}) {
  const bin = findBinaries();
  if (!bin) throw new Error(howToGetPostgres());
  const cluster = await createCluster(bin);
  const flags = serverSettings({ fsync: "off", ...settings }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const args = ["-D", cluster.data, "-p", String(cluster.port), "-k", cluster.folder, ...flags];
  let server;
  const start = async () => {
    const log = openSync(path.join(cluster.folder, "server.log"), "a");
    const options = { cwd: cluster.folder, stdio: ["ignore", log, log] };
    const command = [path.join(bin, "postgres"), ...args];
    if (smallDiskMiB > 0) server = spawn("unshare", withSmallDisk(cluster, smallDiskMiB, command), options);
    else server = spawn(command[0], args, { ...options, ...cluster.user });
    closeSync(log);
    await untilReady(cluster, server);
  };
  const kill = async (signal = "SIGQUIT") => {
    const gone = new Promise((resolve) => server.once("exit", resolve));
    server.kill(signal);
    await gone;
  };
  try {
    await start();
  } catch (error) {
    cluster.stop();
    throw error;
  }
  return { url: cluster.url, data: cluster.data, smallDisk: smallDiskOf(cluster), start, kill, stop: cluster.stop };
}

/** The command for `unshare`: mount, switch the user, and exec the server. */
function withSmallDisk(cluster, sizeMiB, command) {
  const { uid, gid } = cluster.user;
  const folder = smallDiskOf(cluster);
  mkdirSync(folder, { recursive: true });
  const mount = `mount -t tmpfs -o size=${sizeMiB}m,mode=700,uid=${uid},gid=${gid} tmpfs "$0"`;
  const become = `exec setpriv --reuid ${uid} --regid ${gid} --clear-groups "$@"`;
  return ["-m", "sh", "-c", `${mount} && ${become}`, folder, ...command];
}

function smallDiskOf({ folder }) {
  return path.join(folder, "small-disk");
}

/** The last line of the server's pid file says when it accepts connections. */
async function untilReady({ data, folder }, server) {
  const file = path.join(data, "postmaster.pid");
  for (;;) {
    if (server.exitCode !== null) throw new Error(readFileSync(path.join(folder, "server.log"), "utf8"));
    const [pid, , , , , , , state] = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
    if (Number(pid) === server.pid && ["ready", "standby"].includes(state?.trim())) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function startPostgres(bin, durability) {
  const { data, folder, port, url, user, stop } = await createCluster(bin);
  try {
    const flags = serverSettings(durability).map(([name, value]) => `-c ${name}=${value}`);
    const options = [`-p ${port}`, `-k '${folder}'`, ...flags].join(" ");
    const log = path.join(folder, "server.log");
    runAs(user, path.join(bin, "pg_ctl"), ["-D", data, "-l", log, "-o", options, "-w", "-t", "60", "start"], folder);
    return { url, stop };
  } catch (error) {
    stop();
    throw error;
  }
}

function serverSettings(settings) {
  return Object.entries({ max_connections: 200, listen_addresses: "127.0.0.1", max_wal_size: "4GB", ...settings });
}

/** The folder of a server that is about to be started, its address, and how to stop it. */
async function createCluster(bin) {
  const user = serverUser();
  const folder = mkdtempSync(path.join(os.tmpdir(), `${FOLDER_PREFIX}${process.pid}-`));
  const data = path.join(folder, "data");
  const password = randomBytes(12).toString("hex");
  const passwordFile = path.join(folder, "password");
  writeFileSync(passwordFile, password);
  mkdirSync(data, { mode: 0o700 });
  if (user) for (const owned of [folder, data, passwordFile]) chownSync(owned, user.uid, user.gid);
  const stop = () => stopPostgres(bin, folder, user);
  try {
    const init = ["-D", data, "-U", "holdfast", "-E", "UTF8", "--locale=C", "--no-sync", `--pwfile=${passwordFile}`];
    runAs(user, path.join(bin, "initdb"), [...init, "--auth-local=trust", "--auth-host=scram-sha-256"], folder);
    const port = await freePort();
    return { user, folder, data, port, stop, url: `postgres://holdfast:${password}@127.0.0.1:${port}/postgres` };
  } catch (error) {
    stop();
    throw error;
  }
}

function stopPostgres(bin, folder, user) {
  const data = path.join(folder, "data");
  if (existsSync(path.join(data, "postmaster.pid"))) {
    const args = ["-D", data, "-m", "immediate", "-w", "-t", "30", "stop"];
    spawnSync(path.join(bin, "pg_ctl"), args, { cwd: folder, stdio: "ignore", ...user });
  }
  rmSync(folder, { recursive: true, force: true });
}

/** Removes the servers of this user's runs that were killed before they could stop them. */
function removeAbandoned(bin) {
  const user = serverUser();
  for (const name of readdirSync(os.tmpdir()).filter((entry) => entry.startsWith(FOLDER_PREFIX))) {
    const folder = path.join(os.tmpdir(), name);
    const pid = Number.parseInt(name.slice(FOLDER_PREFIX.length), 10);
    const owner = statSync(folder, { throwIfNoEntry: false })?.uid;
    if (pid > 0 && !isAlive(pid) && owner === (user?.uid ?? process.getuid?.())) stopPostgres(bin, folder, user);
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function runAs(user, command, args, cwd) {
  // The server inherits open files, so its output goes to its own log and not to a pipe that we would wait for.
  const result = spawnSync(command, args, { cwd, stdio: "ignore", ...user });
  if (result.status === 0) return;
  const log = path.join(cwd, "server.log");
  const said = existsSync(log) ? `\n${readFileSync(log, "utf8")}` : "";
  throw new Error(`${command} failed (${result.error?.message ?? `exit code ${result.status}`})${said}`);
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
