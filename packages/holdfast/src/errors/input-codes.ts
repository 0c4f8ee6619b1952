import type { ErrorCodeInfo } from "./code-info.ts";

/** Refusals of what a program passes to Holdfast: options, names, values, definitions, URLs. */
export const INPUT_CODES = {
  invalid_option: {
    group: "configuration",
    caller: "fix_input",
    kind: "BadRequest",
    summary: "An option has an invalid value.",
    advice: "Correct the option that the message names.",
  },
  invalid_argument: {
    group: "validation",
    caller: "fix_input",
    kind: "BadRequest",
    summary: "A signal, update or query is not one that the workflow offers: it is not in its list.",
    advice: "Use one that the message names, or add it to the list in workflow({ signals, updates, queries }, fn).",
  },
  invalid_name: {
    group: "validation",
    caller: "fix_input",
    kind: "BadRequest",
    summary: "A name or id is empty, too long, or contains characters that not every store can keep.",
    advice: "Use a short printable name; the message says what is wrong.",
  },
  invalid_export: {
    group: "validation",
    caller: "fix_input",
    kind: "BadRequest",
    summary:
      "A line cannot be imported: the file was cut off or changed, is not an export, or was written by a newer version. Runs of the lines before it are stored.",
    advice:
      "The line is data.line, from 1; data.runs were stored by this call. Export again, or update Holdfast; an import that is repeated skips what is there.",
  },
  file_failed: {
    group: "validation",
    caller: "fix_input",
    kind: "BadRequest",
    summary: "The file or the stream of an export or an import cannot be opened, read or written.",
    advice: "The cause is the error of Node.js. Mend it and repeat the call: an import skips what is there.",
  },
  invalid_duration: {
    group: "validation",
    caller: "fix_input",
    kind: "BadRequest",
    summary: "A duration cannot be read, is negative, or exceeds 100 years.",
    advice: 'Write it like "250ms", "30s", "1 day", "2h 30m" or { minutes: 5 }.',
  },
  invalid_schedule: {
    group: "timer_store",
    caller: "fix_input",
    kind: "BadRequest",
    summary:
      "The times of a schedule cannot be read: a cron expression, an interval, a time, a bound or the time zone.",
    advice:
      "Correct the field in data.field; in a cron expression, data.position is where the fault is, counted from 0.",
  },
  invalid_input: {
    group: "validation",
    caller: "fix_input",
    kind: "ValidationError",
    summary: "The input does not match the schema of the workflow, task, update or query.",
    advice: "Correct the values at the paths in data.issues.",
  },
  invalid_output: {
    group: "validation",
    caller: "bug",
    kind: "ValidationError",
    summary: "A workflow or task returned a value that does not match its own output schema.",
    advice: "Correct the code or the schema at the paths in data.issues.",
  },
  invalid_signal: {
    group: "signal_dispatcher",
    caller: "fix_input",
    kind: "ValidationError",
    summary: "The payload of a signal does not match the signal's schema.",
    advice: "Correct the values at the paths in data.issues.",
  },
  payload_too_large: {
    group: "validation",
    caller: "fix_input",
    kind: "ValidationError",
    summary: "An encoded value exceeds the limit for one payload.",
    advice: "Store large data elsewhere and pass a reference to it.",
  },
  unserializable_value: {
    group: "codec",
    caller: "fix_input",
    kind: "ValidationError",
    summary:
      "A value contains something that cannot be stored: a function, a symbol, a promise, a cycle, an instance of a class.",
    advice: "Return plain data; the message names the path. A promise there is usually a missing await.",
  },
  workflow_not_registered: {
    group: "configuration",
    caller: "not_found",
    kind: "NotFound",
    summary: "No workflow of this name is registered here.",
    advice: "Add the workflow to hf.worker({ workflows }), or correct the name.",
  },
  version_not_registered: {
    group: "configuration",
    caller: "not_found",
    kind: "NotFound",
    summary: "The workflow is registered here, but not in the version of the run.",
    advice: "Keep the old version registered until its last run has ended, or name another version.",
  },
  duplicate_workflow: {
    group: "configuration",
    caller: "fix_input",
    kind: "BadRequest",
    summary: "Two definitions with the same name and version were registered.",
    advice: "Rename one of them or give it another version.",
  },
  adapter_not_installed: {
    group: "configuration",
    caller: "fix_input",
    kind: "BadRequest",
    summary: "The URL needs an adapter package that cannot be loaded.",
    advice: "Do what the message says: install the package, fix what it imports, or pass it in the adapters option.",
  },
  unknown_url_scheme: {
    group: "configuration",
    caller: "fix_input",
    kind: "BadRequest",
    summary: "No adapter knows the scheme of the URL passed to connect().",
    advice: "Use file:, postgres:, https: or memory:.",
  },
  not_supported: {
    group: "configuration",
    caller: "fix_input",
    kind: "BadRequest",
    summary: "The store or adapter in use cannot do this, or not inside a transaction.",
    advice: "Use an adapter with this capability, or do what the message says instead.",
  },
} as const satisfies Record<string, ErrorCodeInfo>;
