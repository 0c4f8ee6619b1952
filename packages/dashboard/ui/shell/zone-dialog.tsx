import { useState } from "react";
import { ActionDialog } from "../components/action-dialog.tsx";
import { TextField } from "../components/fields.tsx";
import { useZone } from "../components/time-settings.tsx";
import { isZone } from "../text/time-text.ts";

export function ZoneDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const { setZone } = useZone();
  const [name, setName] = useState("");
  const known = isZone(name) && name !== "";
  return (
    <ActionDialog
      open={open}
      onClose={onClose}
      title="Time zone"
      description="Times are shown in this zone, in this browser."
      confirm="Use this zone"
      reason="none"
      ready={known}
      onConfirm={async () => setZone(name)}
    >
      <TextField
        label="Zone"
        value={name}
        onChange={setName}
        placeholder="Europe/Berlin"
        wrong={name === "" || known ? undefined : "The browser does not know this zone"}
        hint="A name of the IANA database, as Europe/Berlin"
      />
    </ActionDialog>
  );
}
