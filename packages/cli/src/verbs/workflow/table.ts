/** The verbs `holdfast workflow …`. */
import { FILTER_OPTIONS, INPUT_OPTION, YES_OPTION } from "../../command/values.ts";
import type { Verb } from "../../command/verb.ts";
import type { VerbArgument, VerbOption } from "../../command/verb-shape.ts";

const ID: VerbArgument = { name: "id", about: "the id of the run" };
const TIMEOUT: VerbOption = { name: "timeout", value: "duration", about: "how long to wait: 30s, 5m" };
const WHO: readonly VerbOption[] = [
  { name: "reason", value: "text", about: "why; it is in the history" },
  { name: "by", value: "name", about: "who; it is in the history. The default is your user name" },
];
const BULK: readonly VerbOption[] = [
  ...WHO,
  ...FILTER_OPTIONS,
  { name: "all", about: "all runs of the namespace, if no filter is given" },
  YES_OPTION,
  { name: "dry-run", about: "count the runs, and change nothing" },
  { name: "per-second", value: "n", about: "act on no more than so many runs each second" },
];
const MAYBE_ID: VerbArgument = { ...ID, about: "the id of a run; without it, filters say which runs", optional: true };

const act = (name: "cancel" | "terminate" | "pause" | "resume" | "retry", about: string, details: string): Verb => ({
  path: `workflow ${name}`,
  about,
  details: `${details}\nWith filters instead of an id, it acts on all runs that match: it shows how many, and asks.`,
  arguments: [MAYBE_ID],
  options: BULK,
  examples: [
    `holdfast workflow ${name} order-1 --reason "customer called"`,
    `holdfast workflow ${name} --workflow order --status ${name === "retry" ? "failed" : name === "resume" ? "parked" : "waiting"} --dry-run`,
    `holdfast workflow ${name} --workflow order --attribute region=eu --yes --json`,
  ],
  load: async () => (await import("./act.ts")).actOn(name),
});

export const WORKFLOW_VERBS: readonly Verb[] = [
  {
    path: "workflow list",
    about: "list runs, the newest first",
    options: [
      ...FILTER_OPTIONS,
      { name: "limit", value: "n", about: "at most so many; the default is 20" },
      { name: "all", about: "all of them" },
      { name: "watch", about: "show the list again every two seconds" },
    ],
    examples: [
      "holdfast workflow list",
      "holdfast workflow list --workflow order --status failed --status parked",
      "holdfast workflow list --after 1h --all --json | jq -r .id",
    ],
    load: async () => (await import("./list.ts")).list,
  },
  {
    path: "workflow count",
    about: "count runs",
    options: [...FILTER_OPTIONS],
    examples: ["holdfast workflow count --status failed", "holdfast workflow count --workflow order --json"],
    load: async () => (await import("./list.ts")).count,
  },
  {
    path: "workflow describe",
    about: "show a run: where it stands, its input and output, its ops",
    arguments: [ID],
    examples: ["holdfast workflow describe order-1", "holdfast workflow describe order-1 --json | jq .status"],
    load: async () => (await import("./describe.ts")).describe,
  },
  {
    path: "workflow history",
    about: "show the events of a run",
    arguments: [ID],
    options: [{ name: "values", about: "with the recorded values" }],
    examples: ["holdfast workflow history order-1", "holdfast workflow history order-1 --json > order-1.jsonl"],
    load: async () => (await import("./describe.ts")).history,
  },
  {
    path: "workflow steps",
    about: "show the ops of a run, each in one line",
    arguments: [ID],
    options: [{ name: "watch", about: "show them again every second, until the run has ended" }],
    examples: ["holdfast workflow steps order-1", "holdfast workflow steps order-1 --json | jq -r .op"],
    load: async () => (await import("./describe.ts")).steps,
  },
  {
    path: "workflow start",
    about: "start a run",
    arguments: [{ name: "workflow", about: "the name of the workflow" }],
    options: [
      { name: "id", value: "id", about: "your own id; starting the same id again gives the same run" },
      INPUT_OPTION,
      { name: "wait", about: "wait for the result, and print it" },
      { ...TIMEOUT, about: "how long to wait for the result; the run itself goes on" },
      {
        name: "if-running",
        value: "what",
        about: "if an open run has the id",
        choices: ["return", "fail", "replace"],
      },
      { name: "if-closed", value: "what", about: "if a closed run has the id", choices: ["return", "start", "fail"] },
      { name: "attribute", value: "k=v", many: true, about: "a search attribute; may be repeated" },
      { name: "version-of", value: "version", about: "the version of the workflow" },
      { name: "queue", value: "name", about: "the queue" },
      { name: "key", value: "key", about: "what the limits of the queue go by" },
      { name: "priority", value: "n", about: "from -9 to 9, larger is sooner" },
      { name: "delay", value: "duration", about: "begin after this time" },
      { name: "at", value: "time", about: "begin at this time: 2026-03-01T12:00:00Z, or 2h for in two hours" },
      { name: "run-timeout", value: "duration", about: "the longest that the run may take" },
    ],
    examples: [
      `holdfast workflow start order --id order-1 --input '{"cents":990}'`,
      "holdfast workflow start order --input @order.json --wait --timeout 1m",
      "cat order.json | holdfast workflow start order --input - --json",
    ],
    load: async () => (await import("./start.ts")).start,
  },
  {
    path: "workflow result",
    about: "wait for the result of a run, and print it",
    arguments: [ID],
    options: [TIMEOUT],
    examples: ["holdfast workflow result order-1 --timeout 30s", "holdfast workflow result order-1 --json"],
    load: async () => (await import("./start.ts")).result,
  },
  {
    path: "workflow signal",
    about: "send a signal to a run, or to all that match",
    details: "With filters, the only argument is the name of the signal.",
    arguments: [
      { ...ID, about: "the id of the run; with filters, the name of the signal" },
      { name: "name", about: "the name of the signal", optional: true },
    ],
    options: [INPUT_OPTION, { name: "signal-id", value: "id", about: "two signals with the same id are one" }, ...BULK],
    examples: [
      `holdfast workflow signal order-1 approve --input '{"by":"ann"}'`,
      "holdfast workflow signal approve --workflow order --waiting-for receive:approve --yes",
    ],
    load: async () => (await import("./messages.ts")).signalRun,
  },
  {
    path: "workflow query",
    about: "ask the code of a run for a value; a worker that has the code must be there",
    arguments: [ID, { name: "name", about: "the name of the query" }],
    options: [INPUT_OPTION],
    examples: ["holdfast workflow query order-1 progress", "holdfast workflow query order-1 progress --json"],
    load: async () => (await import("./messages.ts")).queryRun,
  },
  {
    path: "workflow update",
    about: "ask a run to do something, and print its answer",
    arguments: [ID, { name: "name", about: "the name of the update" }],
    options: [INPUT_OPTION, TIMEOUT, { name: "update-id", value: "id", about: "two updates with the same id are one" }],
    examples: [`holdfast workflow update cart-1 add --input '{"sku":"a-1"}' --timeout 10s`],
    load: async () => (await import("./messages.ts")).updateRun,
  },
  act("cancel", "ask a run to stop: it cleans up and ends as canceled", "Compensations are carried out."),
  act("terminate", "end a run at once, without cleanup", "Nothing is compensated. Prefer cancel."),
  act("pause", "stop a run until it is resumed", "Messages wait meanwhile; running attempts end first."),
  act("resume", "let a parked or paused run continue", "A run that is parked for its code needs the right code first."),
  act("retry", "continue a failed run at what failed", "What is recorded stays, and is not done again."),
  {
    path: "workflow fork",
    about: "start a new run with the events of another one up to an op",
    arguments: [ID],
    options: [
      { name: "before", value: "op", about: "the first op that is done again: an op id, or the seq of an event" },
      { name: "new-id", value: "id", about: "the id of the new run" },
      INPUT_OPTION,
      { name: "edit", value: "op=json", many: true, about: "the op ended with this result; may be repeated" },
      ...WHO,
    ],
    examples: ["holdfast workflow fork order-1 --before charge --new-id order-1-again"],
    load: async () => (await import("./fork.ts")).fork,
  },
  {
    path: "workflow why",
    about: "say what a run is waiting for",
    arguments: [ID],
    examples: ["holdfast workflow why order-1", "holdfast workflow why order-1 --json | jq .causes"],
    load: async () => (await import("./why.ts")).why,
  },
  {
    path: "workflow watch",
    about: "follow a run: a live timeline of its ops until it has ended",
    details: "In a pipe, and with --json, one line for each event.",
    arguments: [ID],
    options: [{ name: "from", value: "seq", about: "the first event" }],
    examples: ["holdfast workflow watch order-1", "holdfast workflow watch order-1 --json"],
    load: async () => (await import("./watch.ts")).watch,
  },
];
