import type { ReactNode } from "react";
import type { QueueRow, QueuesView } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Tag } from "../../components/chips.tsx";
import { Page as Frame, Panel } from "../../components/page.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Age } from "../../components/time.tsx";
import { useNow } from "../../components/time-settings.tsx";
import { useSearchState } from "../../search-state.ts";
import { countText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Labeled, NONE } from "../parts/labeled.tsx";
import { Meter } from "../parts/meter.tsx";
import { Split } from "../parts/split.tsx";
import { describeLimits } from "./limit-form.ts";
import { QueueInspector } from "./queue-inspector.tsx";
import styles from "./queues.module.css";

/** From this age on the oldest that is due is marked, as `hf.health()` does. */
const OLD_MS = 5 * 60_000;

export function Page() {
  const read = useRead<QueuesView>("queues", {}, { live: ["queues"], everyMs: 5_000 });
  return (
    <Frame title="Queues & limits">
      <Answer read={read} isEmpty={({ queues }) => queues.length === 0} empty={<NoQueues />}>
        {(view) => <Queues view={view} />}
      </Answer>
    </Frame>
  );
}

function NoQueues() {
  return (
    <Panel label="Queues">
      <Empty title="There are no queues yet">
        A queue is there as soon as a run or a task is in it. Start a run, and look again.
      </Empty>
    </Panel>
  );
}

function Queues({ view }: { readonly view: QueuesView }) {
  const [search, setSearch] = useSearchState();
  const selected = view.queues.find(({ name }) => name === search["queue"]);
  const select = (queue: string | undefined) => setSearch({ queue }, { replace: true });
  return (
    <Split
      aside={
        selected ? <QueueInspector key={selected.name} queue={selected} onClose={() => select(undefined)} /> : null
      }
    >
      <Panel label="Queues">
        <Table
          label="Queues"
          columns={columnsOf(select).filter(({ id }) => !selected || id !== "limits")}
          rows={view.queues}
          rowKey={({ name }) => name}
          selected={({ name }) => name === search["queue"]}
        />
      </Panel>
    </Split>
  );
}

function columnsOf(select: (queue: string) => void): Column<QueueRow>[] {
  return [
    {
      id: "name",
      header: "Queue",
      width: "minmax(120px,1fr)",
      narrow: "title",
      cell: ({ name }) => (
        <button type="button" className={styles.name} onClick={() => select(name)}>
          {safeLine(name)}
        </button>
      ),
    },
    figure("waiting", "Runs waiting", "92px", "runs wait", ({ runs }) => countText(runs.waiting)),
    {
      id: "running",
      header: "In progress",
      width: "112px",
      cell: (queue) => (
        <Labeled name="in progress">
          <Places queue={queue} />
        </Labeled>
      ),
    },
    figure("tasks", "Tasks waiting", "96px", "tasks wait", ({ tasks }) => countText(tasks.waiting)),
    figure("tasksRunning", "In progress", "84px", "in progress", ({ tasks }) => countText(tasks.running)),
    figure("oldest", "Oldest due", "104px", "the oldest due", (queue) => oldestDue(queue)),
    figure("rate", "Begin", "80px", "begin", (queue) => rateText(queue)),
    {
      id: "limits",
      header: "Limits",
      width: "minmax(140px,1.6fr)",
      narrow: "detail",
      wrap: true,
      cell: ({ limits }) => <LimitWords words={describeLimits(limits)} />,
    },
  ];
}

function figure(
  id: string,
  header: string,
  width: string,
  name: string,
  cell: (queue: QueueRow) => ReactNode,
): Column<QueueRow> {
  return { id, header, width, align: "right", cell: (queue) => <Labeled name={name}>{cell(queue)}</Labeled> };
}

function Places({ queue: { runs, limits } }: { readonly queue: QueueRow }) {
  const { concurrency } = limits;
  if (runs.running === 0 && Object.keys(limits).length === 0)
    return (
      <span
        className="faint"
        title="Places are counted only in queues with limits; no worker holds a run of this one now"
      >
        –
      </span>
    );
  if (concurrency === undefined) return countText(runs.running);
  const share = concurrency === 0 ? 1 : runs.running / concurrency;
  return (
    <Meter share={share} markFrom={1}>
      {countText(runs.running)} of {countText(concurrency)}
    </Meter>
  );
}

function oldestDue({ runs, tasks }: QueueRow): ReactNode {
  const due = [runs.oldestDueAt, tasks.oldestDueAt].filter((at) => at !== null);
  return due.length === 0 ? NONE : <Oldest at={Math.min(...due)} />;
}

function Oldest({ at }: { readonly at: number }) {
  const now = useNow();
  return (
    <span className={now - at > OLD_MS ? styles.old : undefined}>
      <Age at={at} />
    </span>
  );
}

function rateText({ runs, tasks }: QueueRow): string {
  const perSecond = runs.perSecond + tasks.perSecond;
  if (perSecond === 0) return NONE;
  return perSecond >= 1 ? `${Number(perSecond.toFixed(1))}/s` : `${Number((perSecond * 60).toFixed(1))}/min`;
}

function LimitWords({ words }: { readonly words: readonly string[] }) {
  if (words.length === 0) return <span className="faint">no limits</span>;
  return words.map((word) => <Tag key={word}>{safeLine(word)}</Tag>);
}
