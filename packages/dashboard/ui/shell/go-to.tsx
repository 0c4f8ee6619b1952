// The box that `/` opens: the id of a run, the name of a workflow or of a page.
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { Facets, RunsPage } from "../../src/api/api-messages.ts";
import { readApi, within } from "../api/api-client.ts";
import { ApiError, messageOf } from "../api/api-error.ts";
import { useNamespace, useRead } from "../api/reads.ts";
import { Dialog } from "../components/dialog.tsx";
import { TextField } from "../components/fields.tsx";
import { Status, stateOf } from "../components/status.tsx";
import { PageLink, type PageName, pagePath, RunLink } from "../links.tsx";
import { safeLine } from "../text/safe-text.ts";
import styles from "./shell.module.css";

interface GoToProps {
  /** What has been typed. */
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}

export function GoTo({ text, onText, onClose }: GoToProps) {
  const namespace = useNamespace();
  const navigate = useNavigate();
  const word = text.trim();
  const runs = useRead<RunsPage>("runs", { id: word, limit: 5 }, { enabled: word !== "" });
  const facets = useRead<Facets>("facets");
  const workflows = (facets.data?.workflows ?? []).filter((name) => word !== "" && name.includes(word)).slice(0, 5);
  const found = word === "" ? [] : (runs.data?.runs ?? []);
  const [refused, setRefused] = useState({ word: "", why: "" });
  const go = (page: PageName, item: string) => {
    onClose();
    void navigate({ to: pagePath(namespace, page, item) });
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (word === "") return;
    try {
      for (const page of ["runs", "schedules"] as const)
        if (await isThere(namespace, page, word)) return go(page, word);
      if (workflows[0] !== undefined) return go("workflows", workflows[0]);
      setRefused({ word, why: `No run has the id “${safeLine(word)}”, nor is there such a workflow or schedule` });
    } catch (error) {
      setRefused({ word, why: messageOf(error) });
    }
  };
  return (
    <Dialog open onClose={onClose} title="Go to">
      <form onSubmit={(event) => void submit(event)}>
        <TextField
          label="Run, workflow or schedule"
          value={text}
          onChange={onText}
          hint="A whole id, then Enter"
          wrong={refused.word === word && word !== "" ? refused.why : undefined}
        />
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

async function isThere(namespace: string, page: "runs" | "schedules", id: string): Promise<boolean> {
  try {
    await readApi(within(namespace, page, id));
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}
