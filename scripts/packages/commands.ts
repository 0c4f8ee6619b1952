// Runs commands as a person would in a terminal: without the variables that `npm run` adds to the environment.
import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";

export class CheckFailed extends Error {}

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What tells npm and pnpm where packages come from; the rest of npm_… is about the running script. */
const KEPT = /^npm_config_(?:registry|cache|userconfig|globalconfig|proxy|https?_proxy|noproxy|cafile|ca|strict_ssl)$/i;
const OFFLINE = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT/;

/** The output; throws if the command fails. */
export async function command(file: string, args: readonly string[], options: CommandOptions): Promise<string> {
  const { code, output } = await spawned(file, args, options);
  if (code === 0) return output;
  const line = [path.basename(file), ...args].join(" ");
  const network = OFFLINE.exec(output)?.[0];
  if (network !== undefined) {
    throw new CheckFailed(
      `${line}\nThe package registry cannot be reached (${network}). This check installs the packages as an application would, from the registry: run it with a network.\n\n${output}`,
    );
  }
  throw new CheckFailed(`${line} ended with ${code} in ${options.cwd}\n${output}`);
}

/** Runs a Node program by its file. */
export function node(file: string, args: readonly string[], options: CommandOptions): Promise<string> {
  return command(process.execPath, [file, ...args], options);
}

function spawned(file: string, args: readonly string[], options: CommandOptions) {
  const own = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || KEPT.test(name));
  const env = { ...Object.fromEntries(own), ...options.env };
  return new Promise<{ readonly code: number | string; readonly output: string }>((resolve) => {
    // npm and pnpm are command scripts on Windows, which need a shell.
    const shell = process.platform === "win32" && file !== process.execPath;
    const child = spawn(file, args, { cwd: options.cwd, env, shell, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const add = (chunk: Buffer): void => {
      output += chunk;
    };
    child.stdout.on("data", add);
    child.stderr.on("data", add);
    child.on("error", (error) => resolve({ code: error.message, output }));
    child.on("close", (code, signal) => resolve({ code: code ?? signal ?? "nothing", output }));
  });
}
