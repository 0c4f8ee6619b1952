import type { Feature } from "../feature.ts";
import { batches } from "./batches.ts";
import { children } from "./children.ts";
import { conversations } from "./conversations.ts";
import { deployments } from "./deployments.ts";
import { locks } from "./locks.ts";
import { messages } from "./messages.ts";
import { operating } from "./operating.ts";
import { runEnds } from "./run-ends.ts";
import { sagas } from "./sagas.ts";
import { steps } from "./steps.ts";
import { tasks } from "./tasks.ts";
import { timersAndSignals } from "./timers-and-signals.ts";
import { valuesAndAttributes } from "./values.ts";
import { watchdog } from "./watchdog.ts";

export const FEATURES: readonly Feature[] = [
  steps,
  sagas,
  timersAndSignals,
  valuesAndAttributes,
  deployments,
  runEnds,
  operating,
  batches,
  tasks,
  children,
  messages,
  conversations,
  locks,
  watchdog,
];
