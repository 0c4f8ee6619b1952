// Where the tests find Python with gRPC, in this order:
// 1. installed on this machine: python3 with the modules grpc, grpc_tools and google.protobuf;
// 2. in Debian's packages, unpacked below node_modules/.cache when first needed (10 MB), beside the python3 that is installed.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { folderOfMachine, libraryPath, unpackDebianPackages } from "./debian-packages.mjs";
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
  const target = folderOfMachine(cache);
  const why = existsSync(target) ? undefined : unpack(target);
  if (why !== undefined) return { missing: `there is no Python with gRPC here (${why})` };
  const unpacked = below(target);
  if (imports(unpacked, "grpc, google.protobuf")) return unpacked;
  return { missing: `there is no Python with gRPC here (Debian's packages do not fit ${PYTHON})` };
}

function below(target) {
  const usr = path.join(target, "usr");
  const env = {
    PYTHONPATH: path.join(usr, "lib", "python3", "dist-packages"),
    LD_LIBRARY_PATH: libraryPath(target),
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
  return existsSync(PYTHON) ? unpackDebianPackages(PACKAGES, target) : `and no ${PYTHON}`;
}
