// What can be done with a schedule. Each dialog says what will happen.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type {
  BackfillCount,
  BackfillRequest,
  OverlapPolicy,
  ScheduleRow,
  Started,
} from "../../../src/api/api-messages.ts";
import { within, writeApi } from "../../api/api-client.ts";
import { messageOf } from "../../api/api-error.ts";
import { useAct, useNamespace } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { SelectField, TextField } from "../../components/fields.tsx";
import { pagePath } from "../../links.tsx";
import { cappedText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";

export const SCHEDULE_ACTIONS = ["trigger", "pause", "resume", "backfill", "delete"] as const;
export type ScheduleAction = (typeof SCHEDULE_ACTIONS)[number];

export interface ScheduleDialogProps {
  readonly schedule: ScheduleRow;
  readonly onClose: () => void;
}

export function ScheduleDialog({ action, ...props }: ScheduleDialogProps & { readonly action: ScheduleAction }) {
  switch (action) {
    case "trigger":
      return <TriggerDialog {...props} />;
    case "pause":
      return <NoteDialog {...props} paused={false} />;
    case "resume":
      return <NoteDialog {...props} paused />;
    case "backfill":
      return <BackfillDialog {...props} />;
    case "delete":
      return <DeleteDialog {...props} />;
  }
}

function TriggerDialog({ schedule, onClose }: ScheduleDialogProps) {
  const act = useAct();
  const namespace = useNamespace();
  const navigate = useNavigate();
  const beside = schedule.openId === null ? "" : ` It runs beside ${safeLine(schedule.openId)}, which is open.`;
  const trigger = async () => {
    const { runId } = await act<Started>(within("schedules", schedule.id, "trigger"));
    await navigate({ to: pagePath(namespace, "runs", runId) });
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Trigger ${safeLine(schedule.id)}`}
      description={`A run of ${safeLine(schedule.workflow)} starts now, with the schedule's input.${beside} None of its times is used up.`}
      confirm="Trigger now"
      reason="none"
      done="A run was started"
      onConfirm={trigger}
    />
  );
}

function NoteDialog({ schedule, paused, onClose }: ScheduleDialogProps & { readonly paused: boolean }) {
  const act = useAct();
  const [note, setNote] = useState("");
  const verb = paused ? "Resume" : "Pause";
  const about = paused
    ? "It goes on with its first time from now on. Times that came while it was paused are not made up for; a backfill starts them."
    : "Nothing is started until it is resumed. Times that come meanwhile are not made up for. Runs that are open go on.";
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`${verb} ${safeLine(schedule.id)}`}
      description={about}
      confirm={`${verb} schedule`}
      reason="none"
      ready={paused || note.trim() !== ""}
      done={`${safeLine(schedule.id)} was ${paused ? "resumed" : "paused"}`}
      onConfirm={() =>
        act(
          within("schedules", schedule.id, paused ? "resume" : "pause"),
          note.trim() === "" ? {} : { note: note.trim() },
        )
      }
    >
      <TextField
        label={paused ? "Note (optional)" : "Note (required)"}
        value={note}
        onChange={setNote}
        hint="Shown with the schedule, for whoever comes next"
        required={!paused}
      />
    </ActionDialog>
  );
}

const OVERLAPS: readonly { readonly value: OverlapPolicy; readonly label: string }[] = [
  { value: "buffer-all", label: "one after the other" },
  { value: "allow", label: "side by side" },
  { value: "skip", label: "skip a time while a run is open" },
];

function BackfillDialog({ schedule, onClose }: ScheduleDialogProps) {
  const act = useAct();
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [overlap, setOverlap] = useState<OverlapPolicy>(schedule.overlap === "allow" ? "allow" : "buffer-all");
  const [start, end] = [utcOf(from), utcOf(to)];
  const wrong = start !== undefined && end !== undefined && end < start ? "This is before the first time." : undefined;
  const ready = start !== undefined && end !== undefined && wrong === undefined;
  const fill = async () => {
    if (start === undefined || end === undefined) return;
    const request: BackfillRequest = { from: start, to: end, overlap };
    await act(within("schedules", schedule.id, "backfill"), request);
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Backfill ${safeLine(schedule.id)}`}
      description="Starts a run for each of its times in this span that has passed and has no run. It goes on when this tab is closed."
      confirm="Start backfill"
      reason="none"
      ready={ready}
      done="The backfill has begun"
      onConfirm={fill}
    >
      <TextField label="From (UTC)" type="datetime-local" value={from} onChange={setFrom} required />
      <TextField label="To (UTC)" type="datetime-local" value={to} onChange={setTo} wrong={wrong} required />
      <SelectField
        label="Runs"
        value={overlap}
        options={OVERLAPS}
        onChange={(value) => setOverlap(value as OverlapPolicy)}
      />
      {ready ? <BackfillSize schedule={schedule.id} from={start} to={end} /> : null}
    </ActionDialog>
  );
}

/** How many times lie in the span, before anything is started. */
function BackfillSize({
  schedule,
  from,
  to,
}: {
  readonly schedule: string;
  readonly from: number;
  readonly to: number;
}) {
  const namespace = useNamespace();
  const path = within(namespace, "schedules", schedule, "backfill", "count");
  const { data, error } = useQuery({
    queryKey: [path, from, to],
    queryFn: () => writeApi<BackfillCount>(path, { from, to }),
    structuralSharing: false,
  });
  const count =
    data === undefined
      ? "Counting…"
      : `${cappedText(data.count, data.capped)} ${data.count === 1 ? "time has" : "times have"} come in this span.`;
  return <p role="status">{error === null ? count : messageOf(error)}</p>;
}

/** What a field for date and time holds, as if its clock showed UTC. */
function utcOf(text: string): number | undefined {
  const at = Date.parse(`${text}Z`);
  return text === "" || Number.isNaN(at) ? undefined : at;
}

function DeleteDialog({ schedule, onClose }: ScheduleDialogProps) {
  const act = useAct();
  const namespace = useNamespace();
  const navigate = useNavigate();
  const remove = async () => {
    await act(within("schedules", schedule.id, "delete"));
    await navigate({ to: pagePath(namespace, "schedules") });
  };
  const buffered = schedule.buffered > 0 ? ` ${schedule.buffered} buffered times are not started.` : "";
  return (
    <ActionDialog
      open
      danger
      onClose={onClose}
      title={`Delete ${safeLine(schedule.id)}`}
      description={`Nothing is started for it any more, and its decisions are forgotten. Its runs stay, also those that are open.${buffered}`}
      confirm="Delete schedule"
      reason="none"
      typed={schedule.id}
      done={`${safeLine(schedule.id)} was deleted`}
      onConfirm={remove}
    />
  );
}
