import { ENGINE_MUTATIONS } from "./engine-mutations.ts";
import { LIMIT_MUTATIONS } from "./limit-mutations.ts";
import { LOCK_MUTATIONS } from "./lock-mutations.ts";
import { MOVE_MUTATIONS } from "./move-mutations.ts";
import type { Mutation } from "./mutation.ts";
import { OPERATION_MUTATIONS } from "./operation-mutations.ts";
import { REPLAY_MUTATIONS } from "./replay-mutations.ts";
import { SCHEDULE_MUTATIONS } from "./schedule-mutations.ts";
import { SEGMENT_MUTATIONS } from "./segment-mutations.ts";
import { STORE_MUTATIONS } from "./store-mutations.ts";
import { TALK_MUTATIONS } from "./talk-mutations.ts";
import { TASK_MUTATIONS } from "./task-mutations.ts";
import { WATCHDOG_MUTATIONS } from "./watchdog-mutations.ts";

export const MUTATIONS: readonly Mutation[] = [
  ...ENGINE_MUTATIONS,
  ...REPLAY_MUTATIONS,
  ...STORE_MUTATIONS,
  ...TASK_MUTATIONS,
  ...TALK_MUTATIONS,
  ...OPERATION_MUTATIONS,
  ...SCHEDULE_MUTATIONS,
  ...SEGMENT_MUTATIONS,
  ...LOCK_MUTATIONS,
  ...LIMIT_MUTATIONS,
  ...WATCHDOG_MUTATIONS,
  ...MOVE_MUTATIONS,
];
