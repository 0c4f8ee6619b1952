import type { TaskRow, TasksPage } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Page as Frame, Panel } from "../../components/page.tsx";
import { PayloadLine } from "../../components/payload.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { Age } from "../../components/time.tsx";
import { PageLink } from "../../links.tsx";
import { useSearchState } from "../../search-state.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Labeled } from "../parts/labeled.tsx";
import { Pager } from "../parts/pager.tsx";
import { Split } from "../parts/split.tsx";
import { TaskInspector } from "./task-inspector.tsx";
import { TaskMark } from "./task-mark.tsx";
import styles from "./tasks.module.css";

const TABS = [
  { id: "all", label: "All" },
  { id: "due", label: "Due" },
  { id: "held", label: "In progress" },
  { id: "external", label: "External" },
  { id: "dead", label: "Dead letters" },
] as const;
type TabId = (typeof TABS)[number]["id"];

const NOTHING: Readonly<Record<TabId, readonly [string, string]>> = {
  all: [
    "No task is open",
    "A task is work that a run schedules and a worker, or a person with a token, does: ctx.task(charge, input).",
  ],
  due: ["No task waits for a worker", "What is due, or between two attempts, is listed here."],
  held: ["No worker has a task", "What workers execute at this moment is listed here."],
  external: ["Nobody is waited for", "Tasks that a person or another system finishes by token are listed here."],
  dead: ["There are no dead letters", "A task that has failed for good stays here until its run is retried or purged."],
};

export function Page() {
  const [search, setSearch] = useSearchState();
  const tab = TABS.find(({ id }) => id === search["tab"])?.id ?? "all";
  const { name, queue, cursor } = search;
  const read = useRead<TasksPage>(
    "tasks",
    { limit: 100, status: tab === "all" ? undefined : tab, name, queue, cursor },
    { live: ["tasks"], everyMs: 5_000 },
  );
  const [title, hint] = NOTHING[tab];
  const filtered = name !== undefined || queue !== undefined;
  return (
    <Frame title="Tasks">
      <Tabs
        label="Which tasks"
        tabs={TABS}
        value={tab}
        onChange={(id) => setSearch({ tab: id === "all" ? undefined : id, cursor: undefined, task: undefined })}
      >
        <Answer read={read}>
          {(page) => (
            <Tasks
              page={page}
              empty={
                filtered ? (
                  <Empty title="No task matches">Type another name or queue.</Empty>
                ) : (
                  <Empty title={title}>{hint}</Empty>
                )
              }
            />
          )}
        </Answer>
      </Tabs>
    </Frame>
  );
}

function Tasks({ page, empty }: { readonly page: TasksPage; readonly empty: React.ReactNode }) {
  const [search, setSearch] = useSearchState();
  const selected = page.tasks.find((task) => keyOf(task) === search["task"]);
  const select = (task: string | undefined) => setSearch({ task }, { replace: true });
  const bar = (
    <>
      <Filter name="name" label="Filter by task" />
      <Filter name="queue" label="Filter by queue" />
    </>
  );
  return (
    <Split
      aside={
        selected ? <TaskInspector key={keyOf(selected)} task={selected} onClose={() => select(undefined)} /> : null
      }
    >
      <Panel label="Tasks" actions={bar}>
        {page.tasks.length === 0 ? (
          empty
        ) : (
          <Table
            label="Tasks"
            columns={columnsOf(select)}
            rows={page.tasks}
            rowKey={keyOf}
            selected={(task) => keyOf(task) === search["task"]}
          />
        )}
        <Pager cursor={page.cursor} shown={page.tasks.length} noun="task" />
      </Panel>
    </Split>
  );
}

/** The exact name: the store finds it by its index. It is asked for when one leaves the field or presses Enter. */
function Filter({ name, label }: { readonly name: "name" | "queue"; readonly label: string }) {
  const [search, setSearch] = useSearchState();
  const apply = (value: string) => {
    const next = value.trim() || undefined;
    if (next !== search[name]) setSearch({ [name]: next, cursor: undefined });
  };
  return (
    <input
      key={search[name] ?? ""}
      className={styles.filter}
      type="search"
      aria-label={label}
      placeholder={label}
      defaultValue={search[name] ?? ""}
      onBlur={(event) => apply(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") apply(event.currentTarget.value);
      }}
    />
  );
}

/** A task is an op of a run. */
function keyOf({ runId, op }: TaskRow): string {
  return `${runId}:${op}`;
}

function columnsOf(select: (key: string) => void): Column<TaskRow>[] {
  return [
    { id: "status", header: "Status", width: "112px", cell: (task) => <TaskMark task={task} /> },
    {
      id: "name",
      header: "Task",
      width: "minmax(120px,1fr)",
      narrow: "title",
      cell: (task) => (
        <button type="button" className={styles.name} onClick={() => select(keyOf(task))}>
          {safeLine(task.name)}
        </button>
      ),
    },
    { id: "queue", header: "Queue", width: "minmax(80px,.6fr)", cell: ({ queue }) => safeLine(queue) },
    {
      id: "run",
      header: "Run",
      width: "minmax(120px,1fr)",
      narrow: "detail",
      cell: ({ runId, id, op }) => (
        <PageLink page="runs" item={runId} search={{ op }} className="mono" title={safeLine(id ?? runId)}>
          {safeLine(id ?? runId)}
        </PageLink>
      ),
    },
    {
      id: "attempt",
      header: "Attempt",
      width: "64px",
      align: "right",
      cell: ({ attempt }) => <Labeled name={attempt === 1 ? "attempt" : "attempts"}>{attempt}</Labeled>,
    },
    {
      id: "details",
      header: "Heartbeat, or last error",
      width: "minmax(160px,1.8fr)",
      narrow: "detail",
      cell: (task) => <Told task={task} />,
    },
    {
      id: "due",
      header: "Due",
      width: "92px",
      align: "right",
      narrow: "hidden",
      cell: ({ availableAt }) => (availableAt === null ? <span className="faint">–</span> : <Age at={availableAt} />),
    },
    { id: "age", header: "Scheduled", width: "104px", align: "right", cell: ({ createdAt }) => <Age at={createdAt} /> },
  ];
}

function Told({ task: { details, failures } }: { readonly task: TaskRow }) {
  if (details.form !== "none") return <PayloadLine value={details} />;
  const last = failures.at(-1);
  if (!last) return <span className="faint">–</span>;
  return (
    <span className="soft" title={safeLine(last.message)}>
      {safeLine(`${last.name}: ${last.message}`)}
    </span>
  );
}
