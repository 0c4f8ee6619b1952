import type { WorkersView, WorkerView } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Command, Empty } from "../../components/answers.tsx";
import { Segments } from "../../components/button.tsx";
import { Tag } from "../../components/chips.tsx";
import { Page as Frame, Panel } from "../../components/page.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Age } from "../../components/time.tsx";
import { useNow } from "../../components/time-settings.tsx";
import { useSearchState } from "../../search-state.ts";
import { bytesText, countOf } from "../../text/count-text.ts";
import { durationText } from "../../text/duration-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Labeled } from "../parts/labeled.tsx";
import { Meter } from "../parts/meter.tsx";
import { Split } from "../parts/split.tsx";
import { HEALTH_ORDER, healthOf, leaseLeft } from "./worker-health.ts";
import { WorkerInspector } from "./worker-inspector.tsx";
import { WorkerLog } from "./worker-log.tsx";
import { WorkerMark } from "./worker-mark.tsx";
import styles from "./workers.module.css";

const BUSY_FROM = 0.8;
/** Columns for which there is no room beside the selected worker, which shows the same. */
const BESIDE: ReadonlySet<string> = new Set(["host", "offers", "memory", "lease"]);

export function Page() {
  const read = useRead<WorkersView>("workers", {}, { live: ["workers"], everyMs: 5_000 });
  return (
    <Frame title="Workers">
      <Answer read={read} isEmpty={({ workers }) => workers.length === 0} empty={<NoWorkers />}>
        {(view) => <Workers view={view} />}
      </Answer>
      <WorkerLog />
    </Frame>
  );
}

function NoWorkers() {
  return (
    <Panel label="Workers">
      <Empty title="No worker has been here in the last day">
        Runs wait until one starts.
        <br />
        <Command>await hf.worker(&#123; workflows: [order] &#125;).start()</Command>
      </Empty>
    </Panel>
  );
}

function Workers({ view }: { readonly view: WorkersView }) {
  const [search, setSearch] = useSearchState();
  const now = useNow();
  const all = search["show"] === "all";
  const living = view.workers.filter(({ status }) => status !== "offline");
  const rows = [...(all ? view.workers : living)].sort((a, b) => rankOf(a, now) - rankOf(b, now) || byName(a, b));
  const selected = view.workers.find(({ workerId }) => workerId === search["worker"]);
  const select = (worker: string | undefined) => setSearch({ worker }, { replace: true });
  const bar = (
    <>
      <Segments
        label="Which workers"
        value={all ? "all" : "living"}
        options={[
          { value: "living", label: `Living ${living.length}` },
          { value: "all", label: `Of the last day ${view.workers.length}` },
        ]}
        onChange={(show) => setSearch({ show: show === "all" ? "all" : undefined })}
      />
      <span className="push faint">{healthText(living, now)}</span>
    </>
  );
  return (
    <Split
      aside={
        selected ? (
          <WorkerInspector
            key={selected.workerId}
            worker={selected}
            leads={selected.workerId === view.leader}
            onClose={() => select(undefined)}
          />
        ) : null
      }
    >
      <Panel label="Workers" actions={bar}>
        {rows.length === 0 ? (
          <Empty title="No worker is alive">Runs wait until one starts. Those of the last day are still listed.</Empty>
        ) : (
          <Table
            label="Workers"
            columns={columnsOf(now, view.leader, select).filter(({ id }) => !selected || !BESIDE.has(id))}
            rows={rows}
            rowKey={({ workerId }) => workerId}
            selected={({ workerId }) => workerId === search["worker"]}
          />
        )}
      </Panel>
    </Split>
  );
}

function columnsOf(now: number, leader: string | null, select: (id: string) => void): Column<WorkerView>[] {
  return [...identity(now, leader, select), ...load(now)];
}

/** Who it is, and what it can do. */
function identity(now: number, leader: string | null, select: (id: string) => void): Column<WorkerView>[] {
  return [
    {
      id: "health",
      header: "Health",
      width: "104px",
      cell: (worker) => <WorkerMark health={healthOf(worker, now).health} />,
    },
    {
      id: "name",
      header: "Worker",
      width: "minmax(104px,1fr)",
      narrow: "title",
      cell: (worker) => (
        <>
          <button type="button" className={styles.name} onClick={() => select(worker.workerId)}>
            {safeLine(worker.name)}
          </button>
          {worker.workerId === leader ? (
            <>
              {" "}
              <Tag title="It fires the schedules">leader</Tag>
            </>
          ) : null}
        </>
      ),
    },
    {
      id: "host",
      header: "Host",
      width: "minmax(76px,.7fr)",
      cell: ({ host, pid }) => (
        <span className="soft">{safeLine([host, pid].filter((part) => part !== null).join(" · ")) || "–"}</span>
      ),
    },
    {
      id: "queues",
      header: "Queues",
      width: "minmax(90px,.8fr)",
      narrow: "detail",
      cell: ({ queues }) => queues.map((queue) => <Tag key={queue}>{safeLine(queue)}</Tag>),
    },
    {
      id: "offers",
      header: "Offers",
      width: "minmax(90px,.8fr)",
      narrow: "hidden",
      cell: (worker) => (
        <span className="soft" title={safeLine([...worker.workflows, ...worker.tasks].join(", "))}>
          {offersText(worker)}
        </span>
      ),
    },
  ];
}

/** How busy it is, and how alive. */
function load(now: number): Column<WorkerView>[] {
  return [
    {
      id: "holds",
      header: "Holds",
      width: "104px",
      cell: ({ activeRuns, activeTasks }) =>
        `${countOf(activeRuns, "run")}${activeTasks > 0 ? `, ${countOf(activeTasks, "task")}` : ""}`,
    },
    {
      id: "loop",
      header: "Event loop",
      width: "92px",
      cell: ({ load }) =>
        load === null ? (
          "–"
        ) : (
          <Meter share={load.loopBusy} markFrom={BUSY_FROM}>
            <Labeled name="event loop">{Math.round(load.loopBusy * 100)} %</Labeled>
          </Meter>
        ),
    },
    {
      id: "memory",
      header: "Memory",
      width: "64px",
      align: "right",
      narrow: "hidden",
      cell: ({ load }) => (load === null ? "–" : bytesText(load.memoryBytes)),
    },
    {
      id: "lease",
      header: "Lease",
      width: "104px",
      narrow: "hidden",
      cell: (worker) => <LeaseMeter worker={worker} now={now} />,
    },
    {
      id: "heartbeat",
      header: "Heartbeat",
      width: "80px",
      align: "right",
      cell: ({ heartbeatAt }) => <Age at={heartbeatAt} />,
    },
  ];
}

function LeaseMeter({ worker, now }: { readonly worker: WorkerView; readonly now: number }) {
  if (worker.status === "offline") return <span className="faint">–</span>;
  return (
    <Meter share={leaseLeft(worker, now)}>
      {durationText(Math.max(0, Math.round((worker.leaseExpiresAt - now) / 1_000) * 1_000))}
    </Meter>
  );
}

function offersText({ workflows, tasks }: WorkerView): string {
  const parts = [
    ...(workflows.length > 0 ? [countOf(workflows.length, "workflow")] : []),
    ...(tasks.length > 0 ? [countOf(tasks.length, "task")] : []),
  ];
  return parts.join(", ") || "nothing";
}

function healthText(workers: readonly WorkerView[], now: number): string {
  const counts = new Map<string, number>();
  for (const worker of workers) {
    const { health } = healthOf(worker, now);
    counts.set(health, (counts.get(health) ?? 0) + 1);
  }
  return HEALTH_ORDER.flatMap((health) => (counts.has(health) ? [`${counts.get(health)} ${health}`] : [])).join(" · ");
}

function rankOf(worker: WorkerView, now: number): number {
  return HEALTH_ORDER.indexOf(healthOf(worker, now).health);
}

function byName(a: WorkerView, b: WorkerView): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : a.workerId < b.workerId ? -1 : 1;
}
