import type { Workload } from "../lab/workload.ts";
import { backlog } from "./backlog.ts";
import { calls } from "./calls.ts";
import { children } from "./children.ts";
import { cold } from "./cold.ts";
import { finished } from "./finished.ts";
import { idle } from "./idle.ts";
import { latency } from "./latency.ts";
import { long } from "./long.ts";
import { parallel } from "./parallel.ts";
import { payloads } from "./payloads.ts";
import { processes } from "./processes.ts";
import { published } from "./published.ts";
import { queries } from "./queries.ts";
import { recover } from "./recover.ts";
import { retention } from "./retention.ts";
import { schedules } from "./schedules.ts";
import { bulk, short } from "./short.ts";
import { signals } from "./signals.ts";
import { sleepers } from "./sleepers.ts";
import { starts } from "./starts.ts";
import { tasks } from "./tasks.ts";
import { ten } from "./ten.ts";
import { updates } from "./updates.ts";

/** In the order in which they are measured and shown. */
export const WORKLOADS: readonly Workload[] = [
  ten,
  short,
  bulk,
  parallel,
  tasks,
  children,
  latency,
  calls,
  long,
  cold,
  recover,
  signals,
  updates,
  queries,
  published,
  sleepers,
  schedules,
  starts,
  processes,
  payloads,
  finished,
  retention,
  backlog,
  idle,
];

export function workloadOf(name: string): Workload {
  const found = WORKLOADS.find((workload) => workload.name === name);
  if (found) return found;
  throw new Error(`There is no workload called ${name}. Choose from: ${WORKLOADS.map((one) => one.name).join(", ")}.`);
}
