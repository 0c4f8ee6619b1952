import { useState } from "react";
import type { Facets } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { SelectField, TextField } from "../../components/fields.tsx";
import { useSearchState } from "../../search-state.ts";
import { safeLine } from "../../text/safe-text.ts";
import { CONDITIONS, type ConditionName, spanMs } from "./run-filter.ts";

interface FilterDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
}

type What = ConditionName | "retrying" | "created" | "waiting" | "attribute";

const WHAT: readonly { readonly value: What; readonly label: string }[] = [
  { value: "status", label: "Status" },
  { value: "workflow", label: "Workflow" },
  { value: "version", label: "Version" },
  { value: "queue", label: "Queue" },
  { value: "error", label: "Error" },
  { value: "waitingFor", label: "Waits for op" },
  { value: "waiting", label: "Waits longer than" },
  { value: "retrying", label: "Retrying" },
  { value: "created", label: "Created in the last" },
  { value: "attribute", label: "Attribute" },
  { value: "id", label: "Id" },
  { value: "parent", label: "Parent" },
];

/** Adds one condition. */
export function FilterDialog({ open, onClose }: FilterDialogProps) {
  return open ? <OpenFilterDialog onClose={onClose} /> : null;
}

function OpenFilterDialog({ onClose }: { readonly onClose: () => void }) {
  const [search, change] = useSearchState();
  const facets = useRead<Facets>("facets").data;
  const [what, setWhat] = useState<What>("status");
  const [value, setValue] = useState(search.status ?? "");
  const [name, setName] = useState("");
  const offers = offersOf(what, facets, name);
  const isSpan = what === "created" || what === "waiting";
  const ready =
    what === "retrying" ||
    (value.trim() !== "" && (!isSpan || spanMs(value) !== undefined) && (what !== "attribute" || name.trim() !== ""));
  const choose = (next: What) => {
    setWhat(next);
    setValue(next === "attribute" || next === "retrying" ? "" : (search[next] ?? ""));
  };
  const add = async () => {
    if (what === "retrying") change({ retrying: "1" });
    else if (what === "attribute") change({ [`attr.${name.trim()}`]: value.trim() });
    else change({ [what]: value.trim() });
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title="Filter"
      confirm="Add condition"
      reason="none"
      ready={ready}
      onConfirm={add}
    >
      <SelectField label="Condition" value={what} options={WHAT} onChange={(next) => choose(next as What)} />
      {what === "attribute" ? (
        <TextField
          label="Attribute"
          value={name}
          onChange={setName}
          hint={Object.keys(facets?.attributes ?? {})
            .map(safeLine)
            .join(", ")}
        />
      ) : null}
      {what === "retrying" ? null : offers.length > 0 && what !== "status" ? (
        <SelectField
          label={what in CONDITIONS ? CONDITIONS[what as ConditionName] : "is"}
          value={value}
          options={[
            { value: "", label: "Choose…" },
            ...offers.map((offer) => ({ value: offer, label: safeLine(offer) })),
          ]}
          onChange={setValue}
        />
      ) : (
        <TextField label="Value" value={value} onChange={setValue} hint={hintOf(what, offers)} />
      )}
    </ActionDialog>
  );
}

function offersOf(what: What, facets: Facets | undefined, attribute: string): readonly string[] {
  switch (what) {
    case "status":
      return facets?.statuses ?? [];
    case "workflow":
      return facets?.workflows ?? [];
    case "queue":
      return facets?.queues ?? [];
    case "error":
      return facets?.errors ?? [];
    case "waitingFor":
      return facets?.waitingFor ?? [];
    case "version":
      return [...new Set(Object.values(facets?.versions ?? {}).flat())];
    case "attribute":
      return (facets?.attributes[attribute.trim()] ?? []).map(String);
    default:
      return [];
  }
}

function hintOf(what: What, offers: readonly string[]): string {
  if (what === "status") return `One or more, separated by commas: ${offers.join(", ")}`;
  if (what === "created" || what === "waiting") return "30m, 24h or 7d";
  return "Exactly this";
}
