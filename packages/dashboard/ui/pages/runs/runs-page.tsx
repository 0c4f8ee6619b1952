// The list of runs: filter, histogram, why each of them is where it is, and what to do with many at once.
import { lazy, Suspense, useEffect, useEffectEvent, useState } from "react";
import type { RunCount } from "../../../src/api/api-messages.ts";
import { apiPath, target, within } from "../../api/api-client.ts";
import { useLiveState } from "../../api/live.ts";
import { useNamespace, useRead } from "../../api/reads.ts";
import { For } from "../../api/session.tsx";
import { Command, Empty, Failure, Loading, Lost } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { CopyAs } from "../../components/copy-as.tsx";
import { Page as PageFrame } from "../../components/page.tsx";
import { TableFoot } from "../../components/table.tsx";
import { useNow } from "../../components/time-settings.tsx";
import { useSearchState } from "../../search-state.ts";
import { cappedText, countText } from "../../text/count-text.ts";
import { codeText } from "../../text/shell-text.ts";
import { BatchProgress } from "./batch-progress.tsx";
import { BulkBar, type Selection } from "./bulk-bar.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { Histogram } from "./histogram.tsx";
import { batchFilter, filterParams } from "./run-filter.ts";
import { type RunList, useRunList } from "./run-list.ts";
import styles from "./runs.module.css";
import { RunsTable } from "./runs-table.tsx";
import { SaveView, ViewTabs } from "./saved-views.tsx";

const StartDialog = lazy(async () => ({ default: (await import("./start-dialog.tsx")).StartDialog }));

export function Page() {
  const [search, change] = useSearchState();
  const minute = Math.floor(useNow() / 60_000) * 60_000;
  const params = filterParams(search, minute);
  const list = useRunList(params);
  const [selection, setSelection] = useState<Selection>({ runIds: new Set(), all: false });
  const actions = (
    <>
      <For role="writer">
        <SaveView />
      </For>
      <CopyRuns />
      <For role="writer">
        <Button kind="primary" icon="plus" onClick={() => change({ start: "1" })}>
          Start a run…
        </Button>
      </For>
    </>
  );
  return (
    <PageFrame title="Runs" actions={actions}>
      <ViewTabs />
      <FilterBar />
      <Histogram params={params} />
      <ListLost list={list} />
      <section className={styles.table} aria-label="Runs that match">
        <BulkBar selection={selection} onChange={setSelection} params={params} filter={batchFilter(search, minute)} />
        <RunsBody list={list} selection={selection} onSelect={setSelection} filtered={Object.keys(params).length > 0} />
        <Foot list={list} params={params} />
      </section>
      <BatchProgress />
      <Suspense>
        {search.start === undefined ? null : (
          <StartDialog open workflow={search.workflow} onClose={() => change({ start: undefined })} />
        )}
      </Suspense>
    </PageFrame>
  );
}

const RETRY_MS = 4000;

/** Without hints the list asks by itself, and says how old it is. */
function ListLost({ list: { refresh, rows, updatedAt } }: { readonly list: RunList }) {
  const lost = useLiveState() === "lost" && rows.length > 0;
  const again = useEffectEvent(refresh);
  useEffect(() => {
    if (!lost) return;
    const timer = setInterval(() => again(), RETRY_MS);
    return () => clearInterval(timer);
  }, [lost]);
  return lost ? <Lost at={updatedAt} retryMs={RETRY_MS} /> : null;
}

interface RunsBodyProps {
  readonly list: RunList;
  readonly selection: Selection;
  readonly onSelect: (selection: Selection) => void;
  readonly filtered: boolean;
}

function RunsBody({ list, selection, onSelect, filtered }: RunsBodyProps) {
  const namespace = useNamespace();
  const [, change] = useSearchState();
  if (list.error !== null && list.rows.length === 0) return <Failure error={list.error} onRetry={list.again} />;
  if (list.loading) return <Loading rows={10} />;
  if (list.rows.length === 0 && list.newer === undefined) {
    return filtered ? (
      <Empty title="No run matches">
        Take a condition away, or{" "}
        <Button small onClick={() => change(cleared())}>
          Clear the filter
        </Button>
      </Empty>
    ) : (
      <Empty title="No runs yet">
        Start one here, from your code, or from the command line:
        <br />
        <Command>{`holdfast workflow start order --namespace ${namespace}`}</Command>
      </Empty>
    );
  }
  return <RunsTable list={list} selection={selection} onSelect={onSelect} />;
}

/** Every condition of the URL, taken away. */
function cleared(): Record<string, undefined> {
  return Object.fromEntries([...new URLSearchParams(location.search).keys()].map((name) => [name, undefined]));
}

function Foot({ list, params }: { readonly list: RunList; readonly params: Readonly<Record<string, string>> }) {
  const [exact, setExact] = useState(false);
  const count = useRead<RunCount>("runs/count", { ...params, ...(exact ? { exact: 1 } : {}) });
  const loaded = countText(list.rows.length);
  return (
    <TableFoot>
      <span>
        {list.full ? `The newest ${loaded}; narrow the filter to see older ones` : `${loaded} loaded`}
        {list.more ? ", older runs load as you scroll" : ""}
      </span>
      {count.data === undefined ? null : (
        <span>
          {count.data.uncounted
            ? "Too many runs are open to count these by the way"
            : `${cappedText(count.data.count, count.data.capped)} match`}
          {count.data.capped ? (
            <>
              {" "}
              <Button small kind="quiet" onClick={() => setExact(true)}>
                Count all
              </Button>
            </>
          ) : null}
        </span>
      )}
      <span className={`push ${styles.keys}`}>
        <kbd>j</kbd> <kbd>k</kbd> move · <kbd>x</kbd> select · <kbd>↵</kbd> open · <kbd>?</kbd> all keys
      </span>
    </TableFoot>
  );
}

function CopyRuns() {
  const namespace = useNamespace();
  const [search] = useSearchState();
  const now = useNow();
  const params = filterParams(search, now);
  const cli = ["holdfast", "workflow", "list", ...target(namespace)];
  if (search.workflow !== undefined) cli.push("--workflow", search.workflow);
  for (const status of search.status?.split(",") ?? []) cli.push("--status", status);
  if (search.queue !== undefined) cli.push("--queue", search.queue);
  if (search.error !== undefined) cli.push("--error", search.error);
  if (search.waitingFor !== undefined) cli.push("--waiting-for", search.waitingFor);
  if (search.created !== undefined) cli.push("--after", search.created);
  const url = new URL(apiPath(within(namespace, "runs"), { ...params, limit: 100 }), location.href).href;
  const { q: _, ...filter } = batchFilter(search, now);
  return (
    <CopyAs cli={cli} curl={{ method: "GET", url, token: true }} typescript={`await hf.list(${codeText(filter)});`} />
  );
}
