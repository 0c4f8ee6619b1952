import { useState } from "react";
import type { RunAction, RunDetail } from "../../../src/api/api-messages.ts";
import { apiPath, within } from "../../api/api-client.ts";
import { useNamespace } from "../../api/reads.ts";
import { useMay } from "../../api/session.tsx";
import { Button, buttonClass } from "../../components/button.tsx";
import { Icon } from "../../components/icon.tsx";
import { Menu } from "../../components/menu.tsx";
import { LazyRunDialogs, type RunDialog } from "./lazy-dialogs.tsx";

const FIRST: readonly RunAction[] = ["signal", "update", "pause", "resume", "retry", "cancel"];
const MORE: readonly RunAction[] = ["query", "fork", "terminate"];
const WORDS: Readonly<Record<RunAction, string>> = {
  signal: "Signal…",
  update: "Update…",
  query: "Query…",
  pause: "Pause…",
  resume: "Resume…",
  retry: "Retry…",
  cancel: "Cancel…",
  terminate: "Terminate…",
  fork: "Fork…",
};

/** What can be done with the run in the state that it is in. Readers see none of it. */
export function RunActions({ run }: { readonly run: RunDetail }) {
  const [dialog, setDialog] = useState<RunDialog>();
  const writer = useMay("writer");
  const more = MORE.filter((action) => run.actions.includes(action));
  return (
    <>
      {writer ? (
        <>
          {FIRST.filter((action) => run.actions.includes(action)).map((action) => (
            <Button key={action} onClick={() => setDialog({ action })}>
              {WORDS[action]}
            </Button>
          ))}
          {more.length === 0 ? null : (
            <Menu
              label="More"
              items={more.map((action) => ({ label: WORDS[action], onSelect: () => setDialog({ action }) }))}
            />
          )}
        </>
      ) : null}
      <Export run={run} />
      <LazyRunDialogs run={run} dialog={dialog} onClose={() => setDialog(undefined)} />
    </>
  );
}

function Export({ run }: { readonly run: RunDetail }) {
  const namespace = useNamespace();
  return (
    <a className={buttonClass()} href={apiPath(within(namespace, "runs", run.runId, "export"))} download>
      <Icon name="download" /> Export
    </a>
  );
}
