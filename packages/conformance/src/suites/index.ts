import type { Suite } from "../suite.ts";
import { claims } from "./claims.ts";
import { commits } from "./commits.ts";
import { concurrency } from "./concurrency.ts";
import { continuations } from "./continuations.ts";
import { hints } from "./hints.ts";
import { inbox } from "./inbox.ts";
import { leases } from "./leases.ts";
import { listing } from "./listing.ts";
import { namespaces } from "./namespaces.ts";
import { operators } from "./operators.ts";
import { parkedRuns } from "./parked-runs.ts";
import { payloads } from "./payloads.ts";
import { reading } from "./reading.ts";
import { retention } from "./retention.ts";
import { starts } from "./starts.ts";
import { sweeps } from "./sweeps.ts";
import { taskClaims } from "./task-claims.ts";
import { taskDeaths } from "./task-deaths.ts";
import { taskFinishes } from "./task-finishes.ts";
import { taskLimits } from "./task-limits.ts";
import { taskListing } from "./task-listing.ts";
import { taskReports } from "./task-reports.ts";
import { taskScheduling } from "./task-scheduling.ts";
import { taskTokens } from "./task-tokens.ts";
import { texts } from "./texts.ts";
import { times } from "./times.ts";
import { transactions } from "./transactions.ts";
import { transitions } from "./transitions.ts";
import { versions } from "./versions.ts";

export const SUITES: readonly Suite[] = [
  starts,
  claims,
  commits,
  transitions,
  continuations,
  inbox,
  transactions,
  leases,
  sweeps,
  namespaces,
  operators,
  parkedRuns,
  retention,
  versions,
  reading,
  listing,
  payloads,
  texts,
  times,
  hints,
  concurrency,
  taskScheduling,
  taskClaims,
  taskFinishes,
  taskTokens,
  taskLimits,
  taskReports,
  taskDeaths,
  taskListing,
];
