// The steps of a Dockerfile, and how to take them without Docker: in a folder that stands for the root of the image. Of the base
// image nothing is there but what this machine has.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync } from "node:fs";
import path from "node:path";
import process from "node:process";

export interface Instruction {
  readonly word: string;
  readonly rest: string;
}

export function readDockerfile(text: string): Instruction[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, word, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      if (word === undefined || rest === undefined) throw new Error(`not understood: ${line}`);
      return { word, rest };
    });
}

export interface BuildOptions {
  /** The folder that stands for `/`; it has to have what `COPY . .` of the first stage brings. */
  readonly root: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the RUN steps of a stage, in order. Paths of the image that begin with one of these folders are inside of `root`. */
export function runSteps(steps: readonly Instruction[], { root, env = {} }: BuildOptions): void {
  let folder = root;
  const inside = (text: string): string => text.replaceAll(/(^|[\s"'=])\/(source|packages|app)\b/g, `$1${root}/$2`);
  for (const { word, rest } of steps) {
    if (word === "WORKDIR") {
      folder = inside(rest);
      mkdirSync(folder, { recursive: true });
    }
    if (word === "COPY" && rest.startsWith("--from=")) {
      const [, from = "", to = ""] = rest.split(" ");
      if (inside(from) !== inside(to)) cpSync(inside(from), inside(to), { recursive: true });
    }
    if (word !== "RUN") continue;
    const { status, stdout, stderr } = spawnSync("sh", ["-ec", inside(rest)], {
      cwd: folder,
      encoding: "utf8",
      env: { PATH: process.env["PATH"] ?? "", HOME: path.join(root, "home"), ...env },
    });
    if (status !== 0) throw new Error(`RUN ${rest} ended with ${status}\n${stdout}\n${stderr}`);
  }
}
