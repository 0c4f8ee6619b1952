import {
  type PauseOutcome,
  type PauseParams,
  parkNote,
  type ResumeOutcome,
  type ResumeParams,
  type RunStatus,
} from "holdfast/adapter";
import { eventTypeCode, jsonBytes } from "../database/codes.ts";
import type { Server } from "../database/server.ts";
import { callOf } from "../database/server-call.ts";
import { REF, type Ref } from "./run-refs.ts";

const PAUSE = callOf<Ref & Pick<PauseParams, "epoch" | "error"> & { readonly notify: boolean }>("pause_run", {
  ...REF,
  p_epoch: ({ epoch }) => epoch,
  p_error: ({ error }) => jsonBytes(error),
  p_type: () => eventTypeCode("run_parked"),
  p_meta: ({ error }) => jsonBytes(parkNote(error).meta),
  p_notify: ({ notify }) => notify,
});

const RESUME = callOf<Ref & Omit<ResumeParams, "run"> & { readonly notify: boolean }>("resume_run", {
  ...REF,
  p_epoch: ({ epoch }) => epoch,
  p_type: ({ event }) => eventTypeCode(event.type),
  p_meta: ({ event }) => (event.meta === undefined ? null : jsonBytes(event.meta)),
  p_due: ({ dueAt }) => (dueAt === null ? null : Math.ceil(dueAt)),
  p_notify: ({ notify }) => notify,
});

export async function pauseRunIfIdle(server: Server, { run: ref, epoch, error }: PauseParams): Promise<PauseOutcome> {
  const row = await server.writeOne(PAUSE, { ref, epoch, error, notify: server.notify });
  return { outcome: row.o_outcome as PauseOutcome["outcome"] };
}

export async function resumeRunIfParked(server: Server, params: ResumeParams): Promise<ResumeOutcome> {
  const { run: ref, epoch, event, dueAt } = params;
  const row = await server.writeOne(RESUME, { ref, epoch, event, dueAt, notify: server.notify });
  return {
    resumed: row.o_resumed as boolean,
    status: row.o_status as RunStatus | null,
    pauses: row.o_pauses as boolean,
  };
}
