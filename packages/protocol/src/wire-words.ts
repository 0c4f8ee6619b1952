/**
 * Messages of the library name its methods and options. Whoever called a server with curl knows neither: here they become the names of
 * the calls and of the fields.
 */

/** What is said to people who use the library, and the call that does the same. */
const CALLS: readonly (readonly [RegExp, string])[] = [
  [/\(await handle\.describe\(\)\)\.runId/g, "the run_id that GetWorkflowByExternalId answers"],
  [/\bhandle\.describe\(\)/g, "GetWorkflow"],
  [/\bhandle\.resume\(\)/g, "ResumeWorkflow"],
  [/\bhandle\.retry\(\)/g, "RetryWorkflow"],
  [/\bhandle\.terminate\(\)/g, "TerminateWorkflow"],
  [/\bhandle\.cancel\(\)/g, "CancelWorkflow"],
  [/\bhandle\.pause\(\)/g, "PauseWorkflow"],
  [/\bhandle\.steps\(\)/g, "ListSteps"],
  [/\bhandle\.history\(\)/g, "GetWorkflowHistory"],
  [/\bhf\.why\([^)]*\)/g, "ExplainWorkflow"],
  [/\bresult\(\{ onParked: "wait" \}\)/g, "AwaitWorkflow"],
  [/\bhf\.schedules\.list\(\)/g, "ListWorkflowSchedules"],
  [/\bhf\.schedules\.get\([^)]*\)/g, "GetWorkflowSchedule"],
  [/\bhf\.schedules\.update\([^)]*\)/g, "UpdateWorkflowSchedule"],
  [/\bUse hf\.batchRun\([^)]*\)/g, "Act on the run of that batch, by its id"],
  [/\bhf\.workers\.list\(\)/g, "ListWorkers"],
  [/\bhf\.queues(?:\.list)?\(\)/g, "GetQueueDepth"],
  [/\bhf\.tasks\.complete\([^)]*\)/g, "CompleteTask"],
  [/\bt\.token and hf\.tasks\.list\(\) return tokens/g, "PollTask answers with tokens"],
  [/\bhf\.health\(\)/g, "HealthCheck"],
  [/\bwas not returned by [\w.]+\(\)/g, "was not returned with an earlier page"],
];

/** Options whose fields have other names; the rest is the same word in snake_case. */
const FIELDS: Readonly<Record<string, string>> = {
  id: "external_id",
  queue: "task_queue",
  timeout: "timeout_ms",
  workflow: "workflow_type",
  cron: "cron_expr",
  "catchUp.max": "max_catchup",
  "options.queue": "task_queue",
  from: "next_fire_at",
  "the cursor": "page_token",
  "the token": "task_token",
};

const METHOD = /^[a-zA-Z.]+$/;

export function inWireWords(text: string, { where, option }: Readonly<Record<string, unknown>> = {}): string {
  let said = text;
  if (typeof where === "string" && typeof option === "string" && said.startsWith(`${where}: ${option} `)) {
    // Which call it was its caller knows, by another name. What is no method says more, such as a step's name.
    const place = METHOD.test(where) ? "" : `${where}: `;
    said = `${place}${fieldOf(option)}${said.slice(`${where}: ${option}`.length)}`;
  }
  for (const [words, call] of CALLS) said = said.replace(words, call);
  return said;
}

function fieldOf(option: string): string {
  if (/^cron\[\d+\]$/.test(option)) return "cron_expr";
  if (Object.hasOwn(FIELDS, option)) return FIELDS[option] as string;
  return /^[a-zA-Z]+$/.test(option) ? option.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : option;
}
