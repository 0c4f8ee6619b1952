/**
 * Contexts: named sets of URL, namespace and token, in one file of the user's configuration folder. The file may contain
 * tokens and passwords, so only its owner can read it, and it is replaced as a whole.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { EXIT } from "./exit-code.ts";
import { CommandError, FileFailed } from "./failure.ts";
import type { Io } from "./io.ts";

export interface Context {
  readonly url: string;
  readonly namespace?: string;
  readonly token?: string;
}

export interface Contexts {
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, Context>>;
}

const NONE: Contexts = { current: null, contexts: {} };

export function contextsFile({ env }: Pick<Io, "env">): string {
  const { HOLDFAST_CONFIG_DIR, XDG_CONFIG_HOME, APPDATA } = env;
  const home = env["HOME"] ?? env["USERPROFILE"] ?? os.homedir();
  const folder =
    HOLDFAST_CONFIG_DIR ||
    path.join(XDG_CONFIG_HOME || (process.platform === "win32" && APPDATA) || path.join(home, ".config"), "holdfast");
  return path.join(folder, "contexts.json");
}

export function readContexts(io: Pick<Io, "env">): Contexts {
  const file = contextsFile(io);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return NONE;
    throw new FileFailed(file, "read", error, "HOLDFAST_CONFIG_DIR names another folder.");
  }
  try {
    const { current, contexts } = JSON.parse(text) as Partial<Contexts>;
    return { current: current ?? null, contexts: contexts ?? {} };
  } catch (cause) {
    throw new CommandError(`${file} is not valid JSON. Correct it, or remove it and add your contexts again.`, {
      code: "invalid_contexts",
      exitCode: EXIT.usage,
      data: { file },
      cause,
    });
  }
}

/** Another process that reads the file sees all of the change, or nothing of it. */
export function writeContexts(io: Pick<Io, "env">, contexts: Contexts): void {
  const file = contextsFile(io);
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const next = `${file}.${process.pid}.tmp`;
    writeFileSync(next, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
    // The mode above counts only for a file that did not exist.
    chmodSync(next, 0o600);
    renameSync(next, file);
  } catch (error) {
    throw new FileFailed(file, "written", error, "HOLDFAST_CONFIG_DIR names another folder.");
  }
}
