// Where the tests find Python with gRPC, in this order:
// 1. installed on this machine: python3 with the modules grpc, grpc_tools and google.protobuf;
// 2. in Debian's packages, unpacked below node_modules/.cache when first needed (10 MB), beside the python3 that is installed: nothing is
//    installed, and only a machine without package lists needs root, to get them.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { root } from "./ensure-installed.mjs";

const CACHE = path.join(root, "node_modules", ".cache", "holdfast-python-grpc");
// Those of Debian 12. Another release has other numbers in the names of its libraries.
const PACKAGES = [
  "python3-grpcio",
  "python3-protobuf",
  "python3-six",
  "libgrpc29",
  "libgrpc++1.51",
  "libabsl20220623",
  "libre2-9",
  "libc-ares2",
  "protobuf-compiler",
  "protobuf-compiler-grpc",
  "libprotoc32",
  "libprotobuf32",
  "libprotobuf-dev",
];
const PYTHON = "/usr/bin/python3";

/** How Python with gRPC is called, and how code is generated for it; or why there is none. */
export function findOrUnpackPythonGrpc(cache = CACHE) {
  const installed = {
    python: "python3",
    env: {},
    generate: (...args) => ["python3", ["-m", "grpc_tools.protoc", ...args]],
  };
  if (imports(installed, "grpc, grpc_tools, google.protobuf")) return { ...installed, plugin: "grpc_python" };
  const target = path.join(cache, `${process.platform}-${process.arch}`);
  const why = existsSync(target) ? undefined : unpack(target);
  if (why !== undefined) return { missing: `there is no Python with gRPC here (${why})` };
  const unpacked = below(target);
  if (imports(unpacked, "grpc, google.protobuf")) return unpacked;
  return { missing: `there is no Python with gRPC here (Debian's packages do not fit ${PYTHON})` };
}

function below(target) {
  const usr = path.join(target, "usr");
  const libraries = existsSync(path.join(usr, "lib"))
    ? readdirSync(path.join(usr, "lib")).filter((name) => name.includes("linux-gnu"))
    : [];
  const env = {
    PYTHONPATH: path.join(usr, "lib", "python3", "dist-packages"),
    LD_LIBRARY_PATH: libraries.map((name) => path.join(usr, "lib", name)).join(path.delimiter),
  };
  const plugin = path.join(usr, "bin", "grpc_python_plugin");
  const generate = (...args) => [
    path.join(usr, "bin", "protoc"),
    ["-I", path.join(usr, "include"), `--plugin=protoc-gen-grpc_python=${plugin}`, ...args],
  ];
  return { python: PYTHON, env, generate };
}

function imports({ python, env }, modules) {
  return spawnSync(python, ["-c", `import ${modules}`], { env: { ...process.env, ...env } }).status === 0;
}

function unpack(target) {
  if (spawnSync("dpkg-deb", ["--version"]).status !== 0) return "and this is no Debian that could get it by itself";
  if (!existsSync(PYTHON)) return `and no ${PYTHON}`;
  // Of its own, and renamed when it is complete: two test runs may do this at once, and one may be killed.
  const draft = `${target}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    const options = { cwd: draft, encoding: "utf8" };
    const download = () => spawnSync("apt-get", ["download", ...PACKAGES], options);
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
