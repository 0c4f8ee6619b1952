/** One of the two worker processes. It counts what it does, and everything that the server calls a deadlock. */
import process from "node:process";
import type { Logger } from "holdfast";
import { type CommitRunsParams, type CommitRunsResult, type Store, storeAround } from "holdfast/adapter";
import { openTortureClient, type Place } from "../torture-client.ts";
import { DEFINITIONS, type Side } from "./pair.ts";

export interface SideSetup {
  readonly place: Place;
  readonly side: Side;
  readonly concurrency: number;
}

export interface SideFacts {
  readonly finished: number;
  /** Calls of `runs.commit`, and the commits in them. */
  readonly flushes: number;
  readonly commits: number;
  /** Of these, the ones that change no row. */
  readonly appends: number;
  /** Messages that have taken their run for a worker of the process that sent them. */
  readonly taken: number;
  /** Commits, deliveries and starts that were put off because another transaction had a lock. */
  readonly busy: number;
  /** Errors of the store with the code 40P01, and lines of the log that mention one. */
  readonly deadlocks: number;
  /** The last line of the log that is a warning or worse. */
  readonly complaint: string;
}

const DEADLOCK = /40P01|deadlock/i;
const setup = JSON.parse(process.argv[2] ?? "{}") as SideSetup;
const facts = { finished: 0, flushes: 0, commits: 0, appends: 0, taken: 0, busy: 0, deadlocks: 0, complaint: "" };

function noteLog(...line: readonly unknown[]): void {
  facts.complaint = line.map((part) => (typeof part === "string" ? part : textOf(part))).join(" ");
  if (DEADLOCK.test(facts.complaint)) facts.deadlocks += 1;
}

/** With the causes, which is where the code of the server is. */
function textOf(value: unknown): string {
  if (!(value instanceof Error)) return JSON.stringify(value) ?? "";
  const { code } = value as { readonly code?: string };
  return `${code ?? value.name}: ${value.message}${value.cause === undefined ? "" : ` (${textOf(value.cause)})`}`;
}

function watched(store: Store): Store {
  return storeAround(store, async (method, params, call) => {
    try {
      const result = await call();
      noteAnswer(method, params, result);
      return result;
    } catch (error) {
      if (DEADLOCK.test(textOf(error))) facts.deadlocks += 1;
      throw error;
    }
  });
}

function noteAnswer(method: string, params: unknown, result: unknown): void {
  const { outcomes } = Object(result) as { readonly outcomes?: readonly { readonly outcome: string }[] };
  facts.busy += outcomes?.filter(({ outcome }) => outcome === "busy").length ?? 0;
  if (method === "inbox.deliver") facts.taken += outcomes?.filter((outcome) => "held" in outcome).length ?? 0;
  if (method !== "runs.commit") return;
  const { commits } = params as CommitRunsParams;
  facts.flushes += 1;
  facts.commits += commits.length;
  facts.appends += commits.filter(({ transition }) => transition.type === "append").length;
  const written = (i: number): boolean => (result as CommitRunsResult).outcomes[i]?.outcome === "written";
  facts.finished += commits.filter(({ transition }, i) => transition.type === "end" && written(i)).length;
}

const log: Logger = { debug() {}, info() {}, warn: noteLog, error: noteLog };
process.on("disconnect", () => process.exit(0));
const { client } = await openTortureClient(setup.place, { log, wrap: watched });
const worker = client.worker({
  workflows: DEFINITIONS,
  queues: [setup.side],
  concurrency: setup.concurrency,
  lease: "30s",
});
await worker.start();
process.on("message", () => process.send?.({ ...facts } satisfies SideFacts));
process.send?.("ready");
