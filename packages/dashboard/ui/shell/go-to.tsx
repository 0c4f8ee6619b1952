// The box that `/` opens: the id of a run, the name of a workflow or of a page.
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { Facets, RunsPage } from "../../src/api/api-messages.ts";
import { useNamespace, useRead } from "../api/reads.ts";
import { Dialog } from "../components/dialog.tsx";
import { TextField } from "../components/fields.tsx";
import { Status, stateOf } from "../components/status.tsx";
import { PageLink, pagePath, RunLink } from "../links.tsx";
import { safeLine } from "../text/safe-text.ts";
import styles from "./shell.module.css";

export function GoTo({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  return open ? <OpenGoTo onClose={onClose} /> : null;
}

function OpenGoTo({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const namespace = useNamespace();
  const navigate = useNavigate();
  const word = text.trim();
  const runs = useRead<RunsPage>("runs", { id: word, limit: 5 }, { enabled: word !== "" });
  const facets = useRead<Facets>("facets");
  const workflows = (facets.data?.workflows ?? []).filter((name) => word !== "" && name.includes(word)).slice(0, 5);
  const found = word === "" ? [] : (runs.data?.runs ?? []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (word === "") return;
    const exact = found[0] === undefined && workflows[0] !== undefined;
    onClose();
    void navigate({ to: exact ? pagePath(namespace, "workflows", workflows[0]) : pagePath(namespace, "runs", word) });
  };
  return (
    <Dialog open onClose={onClose} title="Go to">
      <form onSubmit={submit}>
        <TextField label="Run, workflow or schedule" value={text} onChange={setText} hint="An id, then Enter" />
      </form>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: closes when one of the links inside is followed, by key or by pointer */}
      <ul className={styles.found} onClick={onClose}>
        {found.map((run) => (
          <li key={run.runId}>
            <RunLink id={run.id} runId={run.runId} /> <Status value={stateOf(run.state)} />
          </li>
        ))}
        {workflows.map((name) => (
          <li key={name}>
            <PageLink page="workflows" item={name}>
              {safeLine(name)}
            </PageLink>{" "}
            <span className="faint">workflow</span>
          </li>
        ))}
        {word === "" ? null : (
          <li>
            <PageLink page="runs" search={{ q: word }}>
              Runs that match “{safeLine(word)}”
            </PageLink>
          </li>
        )}
      </ul>
    </Dialog>
  );
}
