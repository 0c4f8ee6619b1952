/** The verbs that run or check the user's code, and the server. */
import type { Verb } from "../../command/verb.ts";
import type { VerbArgument, VerbOption } from "../../command/verb-shape.ts";

const FILES: VerbArgument = {
  name: "file",
  about: "TypeScript or JavaScript files; every workflow and task that they export is registered",
  many: true,
};
const WORKER: readonly VerbOption[] = [
  {
    name: "queue",
    value: "name",
    many: true,
    about: "serve this queue; may be repeated. The default: those of the definitions",
  },
  { name: "concurrency", value: "n", about: "how many runs at once" },
  { name: "task-concurrency", value: "n", about: "how many tasks at once" },
  {
    name: "label",
    value: "label",
    many: true,
    about: "a label that tasks may require: smtp, or gpu=a100; may be repeated",
  },
  { name: "name", value: "name", about: "the name of the worker" },
  { name: "lease", value: "duration", about: "how long its runs stay with it when it falls silent" },
  {
    name: "drain-timeout",
    value: "duration",
    about: "how long running steps have when it is told to stop; the default is 30s",
  },
];
const ADDRESS: readonly VerbOption[] = [
  { name: "host", value: "address", about: "the address to listen on; the default is 127.0.0.1" },
  { name: "port", value: "n", about: "the port; the default is 7433" },
];

export const CODE_VERBS: readonly Verb[] = [
  {
    path: "dev",
    about: "develop: a store in ./.holdfast, and a worker that reloads when a file changes",
    details:
      "A change is loaded in a new process; if that works, the old one is drained. A file that cannot be loaded leaves the old one in place.",
    arguments: [{ ...FILES, optional: true }],
    options: [
      ...ADDRESS,
      { name: "postgres", about: "with a PostgreSQL server in ./.holdfast, in place of a SQLite file" },
      { name: "demo", about: "with a few workflows to look at, and runs of them" },
    ],
    examples: [
      "holdfast dev app.ts",
      "holdfast dev app.ts --postgres",
      "holdfast dev --demo",
      "holdfast dev workflows/order.ts workflows/refund.ts",
    ],
    load: async () => (await import("./dev.ts")).dev,
  },
  {
    path: "server",
    about: "serve a store to clients and workers on other machines",
    details:
      "SIGTERM and Ctrl-C drain: not ready, sessions are sent to other servers, calls finish, exit code 0. A second signal stops at once.",
    options: [
      ...ADDRESS,
      { name: "auth", value: "how", many: true, about: "may be repeated", choices: ["none", "keys", "jwt", "mtls"] },
      { name: "tls-cert", value: "file", about: "the certificate of the server" },
      { name: "tls-key", value: "file", about: "its key" },
      { name: "tls-ca", value: "file", about: "who signs client certificates" },
      { name: "tls-proxy", about: "something before the server encrypts" },
      { name: "jwt-issuer", value: "url", about: "whose JWTs are accepted" },
      { name: "jwt-audience", value: "name", about: "the audience that they must have" },
      { name: "mtls-grants", value: "file", about: "JSON: what names in client certificates may do" },
      {
        name: "migrate",
        value: "how",
        about: "bring the tables up to date at the start, or only check them",
        choices: ["auto", "check"],
      },
      {
        name: "balancer-wait",
        value: "duration",
        about: "on SIGTERM: not ready, but open for so long, so that balancers notice; the default is 5s",
      },
      { name: "insecure-public", about: "listen on a public address without TLS or without authentication" },
    ],
    examples: [
      "holdfast server --url postgres://localhost/app --auth keys",
      "holdfast server --url postgres://db/app --host 0.0.0.0 --auth keys --tls-cert server.pem --tls-key server.key",
    ],
    load: async () => (await import("./server.ts")).server,
  },
  {
    path: "worker",
    about: "execute the workflows and tasks of files; Ctrl-C drains",
    arguments: [FILES],
    options: WORKER,
    examples: [
      "holdfast worker order.ts --url postgres://localhost/app",
      "holdfast worker dist/workflows.js dist/tasks.js --concurrency 200 --label smtp",
      "holdfast worker dist/reports.js --drain-timeout 10m",
    ],
    load: async () => (await import("./worker.ts")).worker,
  },
  {
    path: "replay-check",
    about: "check that new code fits all open runs, without executing anything; exit code 7 if it does not",
    details: "A saved folder lets a pipeline check without access to the database.",
    arguments: [{ ...FILES, optional: true }],
    options: [
      { name: "save", value: "folder", about: "write the histories of the open runs to a folder" },
      { name: "from", value: "folder", about: "check the histories of a folder, not those of a store" },
      { name: "workflow", value: "name", about: "only runs of this workflow" },
    ],
    examples: [
      "holdfast replay-check order.ts --url postgres://localhost/app",
      "holdfast replay-check --save histories --url postgres://localhost/app",
      "holdfast replay-check order.ts --from histories",
    ],
    load: async () => (await import("./replay-check.ts")).replayCheck,
  },
];
