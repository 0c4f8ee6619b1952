/**
 * The packages of another commit beside these: their sources in a folder of their own, with what is installed here. So a client of the
 * last release can talk to a server of today, and the other way round, without a registry.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAM = ["side.ts", "conversation.ts"];

export class OtherBuild {
  readonly #folder = mkdtempSync(path.join(tmpdir(), "holdfast-build-"));
  readonly #children: ChildProcess[] = [];

  /** `revision`: a commit or a tag. */
  constructor(revision: string) {
    const archive = spawnSync("git", ["archive", "--format=tar", revision, "packages"], {
      cwd: root,
      maxBuffer: 1 << 30,
    });
    if (archive.status !== 0) throw new Error(`git archive ${revision}: ${archive.stderr}`);
    const unpacked = spawnSync("tar", ["-x", "-C", this.#folder], { input: archive.stdout });
    if (unpacked.status !== 0) throw new Error(`tar: ${unpacked.stderr}`);
    this.#link();
    for (const file of PROGRAM) cpSync(path.join(import.meta.dirname, file), path.join(this.#folder, file));
    writeFileSync(path.join(this.#folder, "package.json"), '{ "type": "module" }');
  }

  /** Changes a source: what the other build has is then another text. */
  edit(file: string, from: string, to: string): void {
    const whole = path.join(this.#folder, "packages", file);
    const before = readFileSync(whole, "utf8");
    if (!before.includes(from)) throw new Error(`${file} has no ${from}`);
    writeFileSync(whole, before.replaceAll(from, to));
  }

  /** Starts a party, and gives the first thing that it says. */
  async run(party: "server" | "worker" | "client", url = ""): Promise<unknown> {
    const args = ["--conditions=holdfast-source", "--import", "tsx", "side.ts", party, url];
    const child = spawn(process.execPath, args, { cwd: this.#folder, stdio: ["pipe", "pipe", "inherit"] });
    this.#children.push(child);
    const ended = once(child, "exit").then(() => {
      throw new Error(`the ${party} of the other build ended before it said anything`);
    });
    const said = once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line");
    const [line] = (await Promise.race([said, ended])) as [string];
    ended.catch(() => {});
    return JSON.parse(line);
  }

  remove(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** What is installed here, but for Holdfast's own packages. */
  #link(): void {
    const installed = path.join(root, "node_modules");
    const modules = path.join(this.#folder, "node_modules");
    mkdirSync(path.join(modules, "@holdfast"), { recursive: true });
    for (const name of readdirSync(installed))
      if (!name.startsWith(".") && name !== "holdfast" && name !== "@holdfast")
        symlinkSync(path.join(installed, name), path.join(modules, name));
    for (const folder of readdirSync(path.join(this.#folder, "packages"))) {
      const target = path.join(this.#folder, "packages", folder);
      const { name } = JSON.parse(readFileSync(path.join(target, "package.json"), "utf8")) as { name: string };
      symlinkSync(target, path.join(modules, name));
    }
  }
}

/** What the sources are compared with: the last release, or the last commit while nothing is released; undefined without a repository. */
export function revisionToCompare(): string | undefined {
  const wanted = process.env["HOLDFAST_SKEW_AGAINST"];
  if (wanted) return wanted;
  const git = (...args: string[]): string =>
    spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout?.trim() ?? "";
  return (
    git("describe", "--tags", "--abbrev=0", "--match", "v*") || git("rev-parse", "--verify", "-q", "HEAD") || undefined
  );
}
