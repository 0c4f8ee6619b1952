import type { Suite } from "../suite.ts";
import { appendRaces } from "./append-races.ts";
import { appends } from "./appends.ts";
import { claims } from "./claims.ts";
import { commits } from "./commits.ts";
import { concurrency } from "./concurrency.ts";
import { continuations } from "./continuations.ts";
import { asks } from "./conversations/asks.ts";
import { children } from "./conversations/children.ts";
import { closing } from "./conversations/closing.ts";
import { debts } from "./conversations/debts.ts";
import { ends } from "./conversations/ends.ts";
import { conversationHints } from "./conversations/hints.ts";
import { lineage } from "./conversations/lineage.ts";
import { permissions } from "./conversations/permissions.ts";
import { conversationRaces } from "./conversations/races.ts";
import { replies } from "./conversations/replies.ts";
import { replyDebts } from "./conversations/reply-debts.ts";
import { startMessages } from "./conversations/start-messages.ts";
import { watches } from "./conversations/watches.ts";
import { foreignIds } from "./foreign-ids.ts";
import { forks } from "./forks.ts";
import { hints } from "./hints.ts";
import { holdingMessages } from "./holding-messages.ts";
import { inbox } from "./inbox.ts";
import { lastEvents } from "./last-events.ts";
import { leases } from "./leases.ts";
import { lines } from "./limits/lines.ts";
import { places } from "./limits/places.ts";
import { placeRaces } from "./limits/races.ts";
import { limitedStarts } from "./limits/starts.ts";
import { taskPlaces } from "./limits/tasks.ts";
import { listing } from "./listing.ts";
import { lockEnds } from "./locks/ends.ts";
import { locks } from "./locks/passing.ts";
import { lockRaces } from "./locks/races.ts";
import { namespaces } from "./namespaces.ts";
import { operators } from "./operators.ts";
import { otherWriters } from "./other-writers.ts";
import { parkedRuns } from "./parked-runs.ts";
import { pauses } from "./pauses.ts";
import { payloads } from "./payloads.ts";
import { purges } from "./purges.ts";
import { reading } from "./reading.ts";
import { retention } from "./retention.ts";
import { dueSchedules } from "./schedules/due.ts";
import { leaderHints, leadership } from "./schedules/leadership.ts";
import { schedulePuts } from "./schedules/puts.ts";
import { segments } from "./segments.ts";
import { starts } from "./starts.ts";
import { stateFilters } from "./state-filters.ts";
import { storedValues } from "./stored-values.ts";
import { sweeps } from "./sweeps.ts";
import { taskClaims } from "./tasks/claims.ts";
import { taskDeaths } from "./tasks/deaths.ts";
import { taskFinishes } from "./tasks/finishes.ts";
import { taskHints } from "./tasks/hints.ts";
import { taskLimits } from "./tasks/limits.ts";
import { taskListing } from "./tasks/listing.ts";
import { taskNamespaces } from "./tasks/namespaces.ts";
import { taskRaces } from "./tasks/races.ts";
import { taskReports } from "./tasks/reports.ts";
import { taskResults } from "./tasks/results.ts";
import { taskScheduling } from "./tasks/scheduling.ts";
import { taskTexts } from "./tasks/texts.ts";
import { taskTokens } from "./tasks/tokens.ts";
import { texts } from "./texts.ts";
import { times } from "./times.ts";
import { transactions } from "./transactions.ts";
import { arrivals } from "./transfers/arrivals.ts";
import { departures } from "./transfers/departures.ts";
import { transitions } from "./transitions.ts";
import { versions } from "./versions.ts";
import { watchdog } from "./watchdog.ts";
import { workerLog } from "./worker-log.ts";

export const SUITES: readonly Suite[] = [
  starts,
  claims,
  commits,
  appends,
  otherWriters,
  lastEvents,
  appendRaces,
  transitions,
  continuations,
  inbox,
  holdingMessages,
  transactions,
  leases,
  sweeps,
  namespaces,
  foreignIds,
  operators,
  parkedRuns,
  pauses,
  forks,
  purges,
  retention,
  segments,
  versions,
  reading,
  listing,
  stateFilters,
  payloads,
  storedValues,
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
  taskResults,
  taskNamespaces,
  taskTexts,
  taskHints,
  taskRaces,
  children,
  lineage,
  debts,
  closing,
  watches,
  ends,
  permissions,
  startMessages,
  replies,
  replyDebts,
  asks,
  conversationHints,
  conversationRaces,
  schedulePuts,
  dueSchedules,
  leadership,
  workerLog,
  leaderHints,
  locks,
  lockEnds,
  lockRaces,
  places,
  lines,
  taskPlaces,
  placeRaces,
  limitedStarts,
  watchdog,
  departures,
  arrivals,
];
