/** The verbs that operate a store: queues, workers, versions, tasks, health, what is kept. */
import { ENDED_STATUSES as STATUSES } from "../../command/run-statuses.ts";
import { FILTER_OPTIONS, INPUT_OPTION, YES_OPTION } from "../../command/values.ts";
import type { Verb } from "../../command/verb.ts";
import type { VerbArgument, VerbOption } from "../../command/verb-shape.ts";

const TOKEN: VerbArgument = { name: "task-token", about: "the token of the task" };
const WORKFLOW: VerbArgument = { name: "workflow", about: "the name of the workflow" };
const VERSION: VerbArgument = { name: "version", about: "the version" };
const LIMIT: VerbOption = { name: "limit", value: "n", about: "at most so many; the default is 50" };
const WATCH: VerbOption = { name: "watch", about: "show it again every two seconds" };

const QUEUE_VERBS: readonly Verb[] = [
  {
    path: "queue list",
    about: "list queues: what waits, what runs, their limits",
    options: [WATCH],
    examples: ["holdfast queue list", "holdfast queue list --watch"],
    load: async () => (await import("./queue.ts")).list,
  },
  {
    path: "queue set",
    about: "set the limits of a queue, all of them; without options they are removed",
    arguments: [{ name: "name", about: "the name of the queue" }],
    options: [
      { name: "concurrency", value: "n", about: "how many may be in progress" },
      { name: "rate", value: "n/duration", about: "how often they may begin: 100/1m" },
      { name: "burst", value: "n", about: "how many may begin at once after a pause" },
      { name: "per-key-concurrency", value: "n", about: "the same for each key" },
      { name: "per-key-rate", value: "n/duration", about: "the same for each key" },
      { name: "fair", about: "keys take turns" },
      { name: "weight", value: "key=n", many: true, about: "the share of a key; may be repeated" },
      { name: "backlog", value: "n", about: "how many runs may wait" },
      { name: "aging", value: "duration", about: "what waits so long counts as one priority higher" },
    ],
    examples: ["holdfast queue set mail --concurrency 20 --rate 100/1m", "holdfast queue set mail"],
    load: async () => (await import("./queue.ts")).set,
  },
];

const WORKER_VERBS: readonly Verb[] = [
  {
    path: "workers list",
    about: "list workers",
    options: [{ name: "all", about: "also those that have gone" }, WATCH],
    examples: ["holdfast workers list", "holdfast workers list --all --json"],
    load: async () => (await import("./workers.ts")).list,
  },
  {
    path: "workers events",
    about: "what has happened to workers, the newest first",
    options: [{ name: "worker", value: "id", about: "only those of one worker" }, LIMIT],
    examples: ["holdfast workers events --limit 10"],
    load: async () => (await import("./workers.ts")).events,
  },
  {
    path: "workers drain",
    about: "ask a worker to finish its steps, release its runs and stop",
    arguments: [{ name: "worker-id", about: "the id of the worker, or its name" }],
    examples: ["holdfast workers drain 0199c9a2-6a3e-7c4e-8b1e-2f3a4b5c6d7e"],
    load: async () => (await import("./workers.ts")).drain,
  },
];

const VERSION_VERBS: readonly Verb[] = [
  {
    path: "versions list",
    about: "list the versions of workflows that workers have offered",
    arguments: [{ ...WORKFLOW, optional: true }],
    examples: ["holdfast versions list", "holdfast versions list order"],
    load: async () => (await import("./versions.ts")).list,
  },
  {
    path: "versions set-default",
    about: "give this version to starts that name none",
    arguments: [WORKFLOW, VERSION],
    examples: ["holdfast versions set-default order 2"],
    load: async () => (await import("./versions.ts")).setDefault,
  },
  {
    path: "versions deprecate",
    about: "mark a version as deprecated; its runs continue",
    arguments: [WORKFLOW, VERSION],
    options: [{ name: "undo", about: "remove the mark" }],
    examples: ["holdfast versions deprecate order 1", "holdfast versions deprecate order 1 --undo"],
    load: async () => (await import("./versions.ts")).deprecate,
  },
];

const TASK_VERBS: readonly Verb[] = [
  {
    path: "tasks list",
    about: "list tasks that are not finished, and dead letters",
    options: [
      { name: "name", value: "name", about: "only tasks of this name" },
      { name: "queue", value: "name", about: "only tasks of this queue" },
      { name: "status", value: "status", about: "only with this status", choices: ["due", "held", "external", "dead"] },
      { name: "run-id", value: "id", about: "only tasks of this run" },
      { name: "tokens", about: "show the tokens of open attempts: they are secrets" },
      LIMIT,
    ],
    examples: ["holdfast tasks list --status dead", "holdfast tasks list --status external --json | jq -r .token"],
    load: async () => (await import("./tasks.ts")).list,
  },
  {
    path: "tasks get",
    about: "show a task",
    arguments: [TOKEN],
    examples: ["holdfast tasks get $TASK_TOKEN"],
    load: async () => (await import("./tasks.ts")).get,
  },
  {
    path: "tasks complete",
    about: "finish a task with a result",
    arguments: [TOKEN],
    options: [{ ...INPUT_OPTION, about: "the result: JSON, @file.json, or - for standard input" }],
    examples: [`holdfast tasks complete $TASK_TOKEN --input '{"by":"ann"}'`],
    load: async () => (await import("./tasks.ts")).complete,
  },
  {
    path: "tasks fail",
    about: "fail the open attempt of a task",
    arguments: [TOKEN],
    options: [
      { name: "message", value: "text", about: "what went wrong" },
      { name: "non-retryable", about: "it is not tried again" },
    ],
    examples: [`holdfast tasks fail $TASK_TOKEN --message "no such address" --non-retryable`],
    load: async () => (await import("./tasks.ts")).fail,
  },
  {
    path: "tasks retry",
    about: "take a dead letter up again: the run that failed on it goes on",
    arguments: [TOKEN],
    examples: ["holdfast tasks retry $TASK_TOKEN"],
    load: async () => (await import("./tasks.ts")).retry,
  },
];

const KEEPING_VERBS: readonly Verb[] = [
  {
    path: "retention get",
    about: "show how long ended runs are kept",
    examples: ["holdfast retention get"],
    load: async () => (await import("./retention.ts")).get,
  },
  {
    path: "retention set",
    about: "set how long ended runs are kept; what is left out is kept forever",
    options: STATUSES.map((status) => ({
      name: status.replace("_", "-"),
      value: "duration",
      about: `runs that ended as ${status.replace("_", " ")}`,
    })),
    examples: ["holdfast retention set --completed '30 days' --failed '90 days'"],
    load: async () => (await import("./retention.ts")).set,
  },
  {
    path: "purge",
    about: "delete ended runs with their histories",
    options: [
      { name: "older-than", value: "duration", about: "how long ago they must have ended: 30d" },
      {
        name: "status",
        value: "status",
        many: true,
        choices: STATUSES,
        about: "only with this status; may be repeated",
      },
      YES_OPTION,
      { name: "dry-run", about: "count them, and delete nothing" },
    ],
    examples: ["holdfast purge --older-than 30d --status completed", "holdfast purge --older-than 90d --yes --json"],
    load: async () => (await import("./purge.ts")).purge,
  },
  {
    path: "export",
    about: "write runs with their histories to a file, as JSON lines",
    options: [{ name: "to", value: "file", about: "the file; - for standard output" }, ...FILTER_OPTIONS],
    examples: ["holdfast export --to runs.jsonl --status completed"],
    load: async () => (await import("./transfer.ts")).exportRuns,
  },
  {
    path: "import",
    about: "read runs that export has written; run ids that exist are skipped",
    options: [{ name: "from", value: "file", about: "the file; - for standard input" }],
    examples: ["holdfast import --from runs.jsonl"],
    load: async () => (await import("./transfer.ts")).importRuns,
  },
  {
    path: "move",
    about: "move unfinished runs to another store, each exactly once",
    options: [
      { name: "to", value: "url", about: "the other store" },
      ...FILTER_OPTIONS,
      { name: "all", about: "all unfinished runs, if no filter is given" },
      YES_OPTION,
    ],
    examples: ["holdfast --url file:app.db move --to postgres://localhost/app --workflow order"],
    load: async () => (await import("./transfer.ts")).moveRuns,
  },
];

export const STORE_VERBS: readonly Verb[] = [
  {
    path: "migrate",
    about: "create the tables of a store, or bring them up to date",
    options: [{ name: "check", about: "change nothing; exit code 6 if something is missing" }],
    examples: ["holdfast migrate --url postgres://localhost/app", "holdfast migrate --check"],
    load: async () => (await import("./migrate.ts")).migrate,
  },
  {
    path: "health",
    about: "whether the store answers, the workers live, and the schedules are fired",
    details: "Exit code 0 if it is healthy or degraded, 4 if it is unhealthy.",
    options: [WATCH],
    examples: ["holdfast health", "holdfast health --json | jq -r .status"],
    load: async () => (await import("./health.ts")).health,
  },
  {
    path: "top",
    about: "what is going on: queues, workers, rates, the slowest and the failing",
    details: "On a terminal it is drawn again every two seconds; in a pipe, and with --json, it is shown once.",
    options: [{ name: "every", value: "seconds", about: "how often it is drawn" }],
    examples: ["holdfast top", "holdfast top --json"],
    load: async () => (await import("./top.ts")).top,
  },
  ...QUEUE_VERBS,
  ...WORKER_VERBS,
  ...VERSION_VERBS,
  ...TASK_VERBS,
  ...KEEPING_VERBS,
];
