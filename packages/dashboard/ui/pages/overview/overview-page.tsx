// What is wrong, at a glance. Every figure leads to the list behind it.
import type { CountedState, Overview, QueueBacklog } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Command, Empty } from "../../components/answers.tsx";
import { Segments } from "../../components/button.tsx";
import { Icon } from "../../components/icon.tsx";
import { Page as PageFrame, Panel } from "../../components/page.tsx";
import { Sparkline } from "../../components/sparkline.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Age, Time } from "../../components/time.tsx";
import { PageLink, RunLink } from "../../links.tsx";
import { type Search, useSearchState } from "../../search-state.ts";
import { cappedText, countOf, countText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Labeled } from "../parts/labeled.tsx";
import { healthLines } from "./health-lines.ts";
import styles from "./overview.module.css";

export function Page() {
  const [search, change] = useSearchState();
  const minutes = ["60", "360", "1440"].find((each) => each === search.minutes) ?? "60";
  const read = useRead<Overview>("overview", { minutes }, { live: ["overview"], everyMs: 10_000 });
  const actions = (
    <Segments
      label="Time"
      value={minutes}
      options={[
        { value: "60", label: "1 hour" },
        { value: "360", label: "6 hours" },
        { value: "1440", label: "24 hours" },
      ]}
      onChange={(next) => change({ minutes: next === "60" ? undefined : next })}
    />
  );
  return (
    <PageFrame title="Overview" actions={actions}>
      <Answer read={read} isEmpty={isFresh} empty={<Fresh />}>
        {(overview) => (
          <>
            <Health overview={overview} />
            <Rates overview={overview} />
            <States overview={overview} />
            <Failures overview={overview} />
            <div className={styles.columns}>
              <Queues overview={overview} />
              <div>
                <Workers overview={overview} />
                <Schedules overview={overview} />
              </div>
            </div>
            <BusyWorkflows overview={overview} />
          </>
        )}
      </Answer>
    </PageFrame>
  );
}

function isFresh({ counts, rates, queues, schedules, workers }: Overview): boolean {
  const nothing = Object.values(counts).every((count) => count === 0) && rates.started.every((count) => count === 0);
  return (
    nothing &&
    queues.length === 0 &&
    schedules.length === 0 &&
    workers.healthy === 0 &&
    rates.ended.every((count) => count === 0)
  );
}

function Fresh() {
  return (
    <Empty title="Nothing has run here yet">
      Start a worker with your workflows, then a run:
      <br />
      <Command>holdfast dev src/workflows.ts</Command>
      <br />
      <Command>holdfast workflow start order</Command>
    </Empty>
  );
}

function Health({ overview: { health } }: { readonly overview: Overview }) {
  if (health.status === "healthy") return null;
  const { lines, moreWorkers } = healthLines(health.reasons);
  return (
    <section className={`${styles.health} ${styles[health.status]}`} aria-label="Health">
      <Icon name="warn" />
      <ul>
        {lines.map((reason) => (
          <li key={reason}>{safeLine(reason)}</li>
        ))}
        {moreWorkers === 0 ? null : (
          <li>
            <PageLink page="workers">and {countOf(moreWorkers, "more worker")}</PageLink>
          </li>
        )}
      </ul>
    </section>
  );
}

/** The list behind a figure is of the same time. */
const RATES = [
  { id: "started", title: "Started", color: "running", search: (span: string) => ({ created: span }) },
  { id: "ended", title: "Ended", color: "completed", search: (span: string) => ({ q: `is:closed ended>-${span}` }) },
  { id: "failed", title: "Failed", color: "failed", search: (span: string) => failedIn(span) },
  { id: "retried", title: "Retried attempts", color: "waiting", search: () => ({ retrying: "1" }) },
] as const;

function failedIn(span: string): Search {
  return { status: "failed,timed_out", q: `ended>-${span}` };
}

/** As filters write it: `6h`. */
function spanOf(minutes: number): string {
  return `${Math.max(1, Math.round(minutes / 60))}h`;
}

function Rates({ overview: { rates } }: { readonly overview: Overview }) {
  const minutes = rates.from.length;
  return (
    <ul className={styles.rates}>
      {RATES.map(({ id, title, color, search }) => {
        const values = rates[id];
        const sum = values.reduce((total, value) => total + value, 0);
        const most = Math.max(0, ...values);
        return (
          <li key={id}>
            <h2>{title}</h2>
            <p>
              <PageLink page="runs" search={search(spanOf(minutes))}>
                <strong>{countText(sum)}</strong>
              </PageLink>
              <span>
                {minutes === 0 ? "0" : rate(sum / minutes)} per min, at most {countText(most)}
              </span>
            </p>
            <Sparkline
              values={values}
              color={color}
              label={`${title} per minute over ${minutes} minutes; most ${most}`}
            />
          </li>
        );
      })}
    </ul>
  );
}

const STATES: readonly CountedState[] = [
  "pending",
  "running",
  "sleeping",
  "waiting",
  "retrying",
  "compensating",
  "parked",
  "failed",
];

function States({ overview: { counts, countedOf, atMost } }: { readonly overview: Overview }) {
  return (
    <Panel title="Runs by state">
      <ul className={styles.states}>
        {STATES.map((state) => (
          <li key={state}>
            <PageLink page="runs" search={state === "retrying" ? { retrying: "1" } : { status: state }}>
              <b className={counts[state] === 0 ? "faint" : undefined}>
                {cappedText(counts[state], counts[state] >= atMost)}
              </b>
              <Status value={state} />
            </PageLink>
          </li>
        ))}
      </ul>
      {countedOf === null ? null : (
        <p className={styles.note}>
          More than 10,000 runs are open. Pending, running, sleeping, waiting and retrying are those of the newest{" "}
          {countText(countedOf)}.
        </p>
      )}
    </Panel>
  );
}

type Failure = Overview["failures"][number];
const FAILURES: readonly Column<Failure>[] = [
  {
    id: "error",
    header: "Error",
    narrow: "title",
    width: "minmax(200px,2.4fr)",
    cell: (failure) => (
      <>
        <FailureLink failure={failure} />
        {failure.message === null ? "" : <span className="soft"> {safeLine(failure.message)}</span>}
      </>
    ),
  },
  { id: "workflow", header: "Workflow", width: "minmax(90px,.8fr)", cell: ({ workflow }) => safeLine(workflow) },
  {
    id: "op",
    header: "Op",
    width: "minmax(80px,.7fr)",
    cell: ({ op }) => (op === null ? "" : <code>{safeLine(op)}</code>),
  },
  {
    id: "example",
    header: "Example",
    width: "minmax(100px,.9fr)",
    cell: ({ example }) => <RunLink id={example.id} runId={example.runId} />,
  },
  { id: "last", header: "Last", width: "100px", cell: ({ lastAt }) => <Age at={lastAt} /> },
  {
    id: "count",
    header: "Runs",
    width: "70px",
    align: "right",
    cell: ({ count }) => <Labeled name={count === 1 ? "run" : "runs"}>{countText(count)}</Labeled>,
  },
];

function FailureLink({ failure: { status, workflow, error, filter } }: { readonly failure: Failure }) {
  const [{ minutes = "60" }] = useSearchState();
  const search = { status, workflow, q: `ended>-${spanOf(Number(minutes))}` };
  return (
    <PageLink page="runs" search={filter === null ? search : { ...search, error: filter }}>
      {safeLine(error)}
    </PageLink>
  );
}

function Failures({ overview: { failures, failuresSeen, failuresCapped } }: { readonly overview: Overview }) {
  return (
    <Panel title="Failures by workflow, op and error">
      {failures.length === 0 ? (
        <Empty title="No run failed in this time" />
      ) : (
        <Table label="Failures" columns={FAILURES} rows={failures} rowKey={({ example }) => example.runId} />
      )}
      {failuresCapped ? <p className={styles.note}>Of the newest {countText(failuresSeen)} runs that failed.</p> : null}
    </Panel>
  );
}

const QUEUES: readonly Column<QueueBacklog>[] = [
  {
    id: "name",
    header: "Queue",
    narrow: "title",
    cell: ({ name }) => (
      <PageLink page="queues" search={{ queue: name }}>
        {safeLine(name)}
      </PageLink>
    ),
  },
  {
    id: "waiting",
    header: "Waiting",
    width: "90px",
    align: "right",
    cell: ({ waiting }) => <Labeled name="waiting">{countText(waiting)}</Labeled>,
  },
  {
    id: "oldest",
    header: "Oldest due",
    width: "130px",
    align: "right",
    cell: ({ oldestDueAt }) =>
      oldestDueAt === null ? (
        "–"
      ) : (
        <Labeled name="the oldest due">
          <Age at={oldestDueAt} />
        </Labeled>
      ),
  },
  { id: "health", header: "Health", width: "90px", align: "right", cell: ({ health }) => health },
];

function Queues({ overview: { queues } }: { readonly overview: Overview }) {
  return (
    <Panel title="Backlog">
      {queues.length === 0 ? (
        <Empty title="Nothing that is due waits" />
      ) : (
        <Table label="Backlog" columns={QUEUES} rows={queues} rowKey={({ name }) => name} />
      )}
      <p className={styles.note}>
        What waits for a place in a queue with limits is not in it: see{" "}
        <PageLink page="queues">Queues & limits</PageLink>.
      </p>
    </Panel>
  );
}

const WORKER_SHAPES = { healthy: "completed", degraded: "waiting", unhealthy: "failed" } as const;

function Workers({ overview: { workers } }: { readonly overview: Overview }) {
  const all = workers.healthy + workers.degraded + workers.unhealthy;
  return (
    <Panel title="Workers">
      <ul className={styles.states}>
        {(["healthy", "degraded", "unhealthy"] as const).map((health) => (
          <li key={health}>
            <PageLink page="workers">
              <b className={workers[health] === 0 ? "faint" : undefined}>{countText(workers[health])}</b>
              <Status value={WORKER_SHAPES[health]} word={health} />
            </PageLink>
          </li>
        ))}
      </ul>
      {all === 0 ? <p className={styles.note}>No worker runs: nothing makes progress.</p> : null}
    </Panel>
  );
}

function Schedules({ overview: { schedules } }: { readonly overview: Overview }) {
  return (
    <Panel title="Next schedules">
      {schedules.length === 0 ? (
        <p className={styles.note}>None.</p>
      ) : (
        <ul className={styles.list}>
          {schedules.map(({ id, workflow, at }) => (
            <li key={`${id} ${at}`}>
              <PageLink page="schedules" item={id}>
                {safeLine(id)}
              </PageLink>
              <span className="soft">{safeLine(workflow)}</span>
              <span className="push">
                <Time at={at} form="clock" />, <Age at={at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

type Busy = Overview["workflows"][number];
const BUSY: readonly Column<Busy>[] = [
  {
    id: "workflow",
    header: "Workflow",
    narrow: "title",
    width: "minmax(140px,2fr)",
    cell: ({ workflow }) => (
      <PageLink page="workflows" item={workflow}>
        {safeLine(workflow)}
      </PageLink>
    ),
  },
  ...(["started", "ended", "failed", "retried"] as const).map(
    (name): Column<Busy> => ({
      id: name,
      header: `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`,
      align: "right",
      cell: (busy) => <Labeled name={name}>{countText(busy[name])}</Labeled>,
    }),
  ),
];

function BusyWorkflows({ overview: { workflows } }: { readonly overview: Overview }) {
  if (workflows.length === 0) return null;
  return (
    <Panel title="Workflows">
      <Table label="Workflows" columns={BUSY} rows={workflows} rowKey={({ workflow }) => workflow} />
    </Panel>
  );
}

function rate(value: number): string {
  return value >= 10 ? countText(Math.round(value)) : String(Number(value.toFixed(1)));
}
