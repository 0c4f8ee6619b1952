import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type {
  OverlapPolicy,
  SchedulePreviewRequest,
  ScheduleRequest,
  WorkflowsView,
} from "../../../src/api/api-messages.ts";
import { within, writeApi } from "../../api/api-client.ts";
import { messageOf } from "../../api/api-error.ts";
import { useAct, useNamespace, useRead } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { Button } from "../../components/button.tsx";
import { JsonField, SelectField, TextField } from "../../components/fields.tsx";
import { Time } from "../../components/time.tsx";
import { pagePath } from "../../links.tsx";
import { parseJsonText } from "../../text/json-text.ts";

const OVERLAPS: readonly { readonly value: OverlapPolicy; readonly label: string }[] = [
  { value: "skip", label: "skip: nothing is started for it" },
  { value: "buffer-one", label: "buffer-one: it waits, unless one waits already" },
  { value: "buffer-all", label: "buffer-all: all wait, one after the other" },
  { value: "cancel-other", label: "cancel-other: the open run is canceled first" },
  { value: "terminate-other", label: "terminate-other: the open run is ended at once" },
  { value: "allow", label: "allow: they run side by side" },
];

export function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const act = useAct();
  const namespace = useNamespace();
  const navigate = useNavigate();
  const workflows = useRead<WorkflowsView>("workflows").data?.workflows ?? [];
  const [form, setForm] = useState({
    id: "",
    workflow: "",
    when: "cron",
    text: "",
    timezone: "UTC",
    overlap: "skip",
    input: "",
  });
  const set = (name: keyof typeof form) => (value: string) => setForm((old) => ({ ...old, [name]: value }));
  const times = timesOf(form);
  const workflow = form.workflow || workflows[0]?.name || "";
  const request: ScheduleRequest = {
    id: form.id.trim(),
    workflow,
    ...times,
    overlap: form.overlap as OverlapPolicy,
    ...(form.input.trim() === "" ? {} : { input: form.input }),
  };
  const create = async () => {
    await act("schedules/create", request);
    await navigate({ to: pagePath(namespace, "schedules", request.id) });
  };
  return (
    <ActionDialog
      open
      wide
      onClose={onClose}
      title="New schedule"
      description="It begins with its first time from now on. Each of its times starts one run."
      confirm="Create schedule"
      reason="none"
      ready={request.id !== "" && workflow !== "" && form.text.trim() !== "" && parseJsonText(form.input).ok}
      done={`Schedule ${request.id} was created`}
      onConfirm={create}
    >
      <TextField label="Id" value={form.id} onChange={set("id")} required autoFocus />
      {workflows.length === 0 ? (
        <TextField label="Workflow" value={form.workflow} onChange={set("workflow")} required />
      ) : (
        <SelectField
          label="Workflow"
          value={workflow}
          options={workflows.map(({ name }) => ({ value: name, label: name }))}
          onChange={set("workflow")}
        />
      )}
      <WhenFields form={form} set={set} />
      <Preview times={times} />
      <SelectField
        label="While the run before is open"
        value={form.overlap}
        options={OVERLAPS}
        onChange={set("overlap")}
      />
      <JsonField label="Input" value={form.input} onChange={set("input")} />
    </ActionDialog>
  );
}

interface WhenFieldsProps {
  readonly form: { readonly when: string; readonly text: string; readonly timezone: string };
  readonly set: (name: "when" | "text" | "timezone") => (value: string) => void;
}

function WhenFields({ form, set }: WhenFieldsProps) {
  return (
    <>
      <SelectField
        label="When"
        value={form.when}
        options={[
          { value: "cron", label: "a cron expression" },
          { value: "every", label: "an interval" },
        ]}
        onChange={set("when")}
      />
      <TextField
        label={form.when === "cron" ? "Cron expression" : "Interval"}
        value={form.text}
        onChange={set("text")}
        hint={form.when === "cron" ? "30 2 * * *: every night at half past two" : "10m, 1h, 1 day"}
        required
      />
      {form.when === "cron" ? (
        <TextField label="Time zone" value={form.timezone} onChange={set("timezone")} hint="Europe/Berlin" />
      ) : null}
    </>
  );
}

function timesOf({
  when,
  text,
  timezone,
}: {
  readonly when: string;
  readonly text: string;
  readonly timezone: string;
}) {
  const trimmed = text.trim();
  return when === "cron" ? { cron: trimmed, timezone: timezone.trim() || "UTC" } : { every: trimmed };
}

/** What comes out of the expression, before anything is created. */
function Preview({ times }: { readonly times: Omit<SchedulePreviewRequest, "n"> }) {
  const namespace = useNamespace();
  const [shown, setShown] = useState<{ readonly next: readonly number[] } | { readonly wrong: string }>();
  const show = async () => {
    try {
      const path = within(namespace, "schedules", "preview");
      const answer = await writeApi<{ readonly times: readonly number[] }>(path, { ...times, n: 5 });
      setShown({ next: answer.times });
    } catch (error) {
      setShown({ wrong: messageOf(error) });
    }
  };
  return (
    <div>
      <Button small onClick={() => void show()}>
        Show the next times
      </Button>
      <div role="status">
        {shown === undefined ? null : "wrong" in shown ? (
          <p>{shown.wrong}</p>
        ) : shown.next.length === 0 ? (
          <p>It is never due.</p>
        ) : (
          <ol>
            {shown.next.map((at) => (
              <li key={at}>
                <Time at={at} />
              </li>
            ))}
          </ol>
        )}
      </div>
    </div>
  );
}
