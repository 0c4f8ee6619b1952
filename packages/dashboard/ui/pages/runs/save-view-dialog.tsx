import { useState } from "react";
import { useAct } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { TextField } from "../../components/fields.tsx";

interface SaveViewDialogProps {
  /** The part of the URL behind the question mark. */
  readonly search: string;
  readonly onClose: () => void;
}

export function SaveViewDialog({ search, onClose }: SaveViewDialogProps) {
  const act = useAct();
  const [name, setName] = useState("");
  return (
    <ActionDialog
      open
      onClose={onClose}
      title="Save view"
      description="Everybody who may see this namespace gets it beside the other views."
      confirm="Save view"
      reason="none"
      ready={name.trim() !== ""}
      onConfirm={() => act("views/save", { name: name.trim(), search })}
      done="Saved the view"
    >
      <TextField label="Name" value={name} onChange={setName} required />
    </ActionDialog>
  );
}
