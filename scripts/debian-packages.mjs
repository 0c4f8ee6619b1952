// Packages of Debian, unpacked into a folder when they are first needed: nothing is installed, no service is started, and only a
// machine without package lists needs root, to get them.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import process from "node:process";

/** The folder below `cache` for what runs on this machine only. */
export function folderOfMachine(cache) {
  return path.join(cache, `${process.platform}-${process.arch}`);
}

/** The folders of `usr/lib` that have the libraries of an architecture, as a search path. */
export function libraryPath(target) {
  const lib = path.join(target, "usr", "lib");
  const names = existsSync(lib) ? readdirSync(lib).filter((name) => name.includes("linux-gnu")) : [];
  return names.map((name) => path.join(lib, name)).join(path.delimiter);
}

/** Unpacks the packages into `target`, a folder that is not there yet; or says why it cannot. */
export function unpackDebianPackages(packages, target) {
  if (spawnSync("dpkg-deb", ["--version"]).status !== 0) return "and this is no Debian that could get it by itself";
  // Of its own, and renamed when it is complete: two test runs may do this at once, and one may be killed.
  const draft = `${target}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    const options = { cwd: draft, encoding: "utf8" };
    const download = () => spawnSync("apt-get", ["download", ...packages], options);
    let downloaded = download();
    if (downloaded.status !== 0 && process.getuid?.() === 0) {
      spawnSync("apt-get", ["update"], options);
      downloaded = download();
    }
    if (downloaded.status !== 0) return `apt-get download failed: ${lastLine(downloaded)}`;
    for (const file of readdirSync(draft).filter((name) => name.endsWith(".deb"))) {
      const extracted = spawnSync("dpkg-deb", ["-x", file, "content"], options);
      if (extracted.status !== 0) return `dpkg-deb failed: ${lastLine(extracted)}`;
    }
    if (!existsSync(target)) renameSync(path.join(draft, "content"), target);
    return undefined;
  } catch (error) {
    return existsSync(target) ? undefined : error.message;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function lastLine({ stderr, error }) {
  return (stderr || String(error ?? "")).trim().split("\n").at(-1);
}
