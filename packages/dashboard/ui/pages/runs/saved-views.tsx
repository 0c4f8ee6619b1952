import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import type { RunCount, SavedViews } from "../../../src/api/api-messages.ts";
import { useAct, useNamespace, useRead } from "../../api/reads.ts";
import { useMay } from "../../api/session.tsx";
import { Button } from "../../components/button.tsx";
import { useNow } from "../../components/time-settings.tsx";
import { pagePath } from "../../links.tsx";
import { parseSearch, searchText, useSearchState } from "../../search-state.ts";
import { cappedText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { filterParams, isView, NOT_CONDITIONS, VIEWS, type View } from "./run-filter.ts";
import styles from "./runs.module.css";

const SaveViewDialog = lazy(async () => ({ default: (await import("./save-view-dialog.tsx")).SaveViewDialog }));

function useViews(): readonly View[] {
  const saved = useRead<SavedViews>("views").data?.views ?? [];
  return [...VIEWS, ...saved.map(({ name, search }) => ({ name, search: parseSearch(search), saved: true }))];
}

/** Views that everybody has, then those that somebody saved. */
export function ViewTabs() {
  const namespace = useNamespace();
  const views = useViews();
  return (
    <nav className={styles.views} aria-label="Saved views">
      {views.map((view) => (
        <Link
          key={`${view.saved ? "saved" : "own"} ${view.name}`}
          to={pagePath(namespace, "runs")}
          search={view.search as never}
          activeOptions={{ exact: true, includeSearch: true }}
        >
          {safeLine(view.name)}
          <ViewCount view={view} />
        </Link>
      ))}
    </nav>
  );
}

/** Capped at 10,000, anew every half minute. */
function ViewCount({ view }: { readonly view: View }) {
  const minute = Math.floor(useNow() / 60_000) * 60_000;
  const params = filterParams(view.search, minute);
  const any = Object.keys(params).length > 0;
  const { data } = useRead<RunCount>("runs/count", params, { enabled: any, everyMs: 30_000 });
  return any && data !== undefined && data.uncounted === undefined ? (
    <span>{cappedText(data.count, data.capped)}</span>
  ) : null;
}

/** Saves the filter for everybody, or removes the view that is shown. */
export function SaveView() {
  const act = useAct();
  const [search] = useSearchState();
  const [open, setOpen] = useState(false);
  const current = useViews().find((view) => isView(view.search, search));
  const may = useMay("writer");
  if (!may) return null;
  if (current?.saved) {
    return <Button onClick={() => void act("views/remove", { name: current.name })}>Remove view</Button>;
  }
  const plain = Object.fromEntries(Object.entries(search).filter(([key]) => !NOT_CONDITIONS.includes(key)));
  return (
    <>
      <Button disabled={current !== undefined} onClick={() => setOpen(true)}>
        Save view…
      </Button>
      <Suspense>
        {open ? <SaveViewDialog search={searchText(plain).replace(/^\?/, "")} onClose={() => setOpen(false)} /> : null}
      </Suspense>
    </>
  );
}
