/** The verbs `holdfast schedule …`. */
import { INPUT_OPTION, YES_OPTION } from "../../command/values.ts";
import type { Verb } from "../../command/verb.ts";
import type { VerbArgument, VerbOption } from "../../command/verb-shape.ts";

const ID: VerbArgument = { name: "id", about: "the id of the schedule" };
const OVERLAPS = ["skip", "buffer-one", "buffer-all", "cancel-other", "terminate-other", "allow"];

const TIMES: readonly VerbOption[] = [
  { name: "cron", value: "expression", many: true, about: "five or six fields: '0 3 * * *'; may be repeated" },
  { name: "every", value: "duration", about: "an interval: 10m" },
  {
    name: "at",
    value: "time",
    many: true,
    about: "a single time: 2026-03-01T12:00:00Z, or 2h for in two hours; may be repeated",
  },
  { name: "timezone", value: "zone", about: "of the cron expressions: Europe/Berlin; the default is UTC" },
  { name: "jitter", value: "duration", about: "each time is moved by up to so much" },
  { name: "from", value: "time", about: "not before this time; 2h is in two hours" },
  { name: "until", value: "time", about: "not after this time; 30d is in thirty days" },
];
const RULES: readonly VerbOption[] = [
  INPUT_OPTION,
  { name: "overlap", value: "policy", about: "if the run before is open", choices: OVERLAPS },
  { name: "catch-up", value: "n", about: "how many missed times are made up for" },
  { name: "version-of", value: "version", about: "the version of the workflow" },
  { name: "queue", value: "name", about: "the queue of its runs" },
  { name: "run-timeout", value: "duration", about: "the longest that a run may take" },
  { name: "attribute", value: "k=v", many: true, about: "a search attribute of its runs; may be repeated" },
  { name: "note", value: "text", about: "a note for people" },
];
const WHO: readonly VerbOption[] = [
  { name: "note", value: "text", about: "why" },
  { name: "by", value: "name", about: "who" },
];
const COUNT: VerbOption = { name: "count", value: "n", about: "how many; the default is 10" };

export const SCHEDULE_VERBS: readonly Verb[] = [
  {
    path: "schedule create",
    about: "create a schedule",
    arguments: [ID],
    options: [
      { name: "workflow", value: "name", about: "what it starts" },
      ...TIMES,
      ...RULES,
      { name: "paused", about: "nothing is started until it is resumed" },
      { name: "if-exists", value: "what", about: "if the id is taken", choices: ["fail", "update"] },
    ],
    examples: [
      "holdfast schedule create nightly --workflow report --cron '0 3 * * *' --timezone Europe/Berlin",
      `holdfast schedule create poll --workflow sync --every 10m --overlap skip --input '{"full":false}'`,
    ],
    load: async () => (await import("./change.ts")).create,
  },
  {
    path: "schedule list",
    about: "list schedules",
    examples: ["holdfast schedule list", "holdfast schedule list --json | jq -r .id"],
    load: async () => (await import("./look.ts")).list,
  },
  {
    path: "schedule describe",
    about: "show a schedule and its last decisions",
    arguments: [ID],
    examples: ["holdfast schedule describe nightly"],
    load: async () => (await import("./look.ts")).describe,
  },
  {
    path: "schedule update",
    about: "change a schedule; what is not given stays",
    arguments: [ID],
    options: [{ name: "workflow", value: "name", about: "what it starts" }, ...TIMES, ...RULES],
    examples: ["holdfast schedule update nightly --cron '0 4 * * *'"],
    load: async () => (await import("./change.ts")).update,
  },
  {
    path: "schedule pause",
    about: "start nothing until it is resumed",
    arguments: [ID],
    options: WHO,
    examples: [`holdfast schedule pause nightly --note "until the migration is done"`],
    load: async () => (await import("./change.ts")).pause,
  },
  {
    path: "schedule resume",
    about: "go on with the first time from now on",
    arguments: [ID],
    options: WHO,
    examples: ["holdfast schedule resume nightly"],
    load: async () => (await import("./change.ts")).resume,
  },
  {
    path: "schedule trigger",
    about: "start a run of it now",
    arguments: [ID],
    examples: ["holdfast schedule trigger nightly"],
    load: async () => (await import("./change.ts")).trigger,
  },
  {
    path: "schedule backfill",
    about: "start what it would have started in a span of time",
    arguments: [ID],
    options: [
      { name: "from", value: "time", about: "the first time: 2026-03-01, or 2d for two days ago" },
      { name: "to", value: "time", about: "the last time; the default is now" },
      { name: "overlap", value: "policy", about: "while a run is open", choices: OVERLAPS },
    ],
    examples: ["holdfast schedule backfill nightly --from 2026-03-01 --to 2026-03-08"],
    load: async () => (await import("./change.ts")).backfill,
  },
  {
    path: "schedule delete",
    about: "delete a schedule; its runs stay",
    arguments: [ID],
    options: [YES_OPTION],
    examples: ["holdfast schedule delete nightly --yes"],
    load: async () => (await import("./change.ts")).remove,
  },
  {
    path: "schedule upcoming",
    about: "show its next times",
    arguments: [ID],
    options: [COUNT],
    examples: ["holdfast schedule upcoming nightly --count 3"],
    load: async () => (await import("./look.ts")).upcoming,
  },
  {
    path: "schedule runs",
    about: "list its runs, the newest first",
    arguments: [ID],
    options: [{ name: "limit", value: "n", about: "at most so many; the default is 20" }],
    examples: ["holdfast schedule runs nightly"],
    load: async () => (await import("./look.ts")).runs,
  },
  {
    path: "schedule preview",
    about: "show the next times of a schedule that need not exist",
    options: [...TIMES, COUNT],
    examples: ["holdfast schedule preview --cron '0 9 * * 1-5' --timezone America/New_York"],
    load: async () => (await import("./look.ts")).preview,
  },
];
