import type { ReactNode } from "react";
import type { ScheduleDecisionRow, SchedulePage } from "../../../src/api/api-messages.ts";
import { curlOf, target, within } from "../../api/api-client.ts";
import { useItem, useNamespace, useRead } from "../../api/reads.ts";
import { useMay } from "../../api/session.tsx";
import { Answer, Empty } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { CopyAs } from "../../components/copy-as.tsx";
import { Facts, Page as Frame, Panel } from "../../components/page.tsx";
import { Payload } from "../../components/payload.tsx";
import { type State, Status, stateOf } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Age, Time } from "../../components/time.tsx";
import { PageLink, pagePath, RunLink } from "../../links.tsx";
import { useSearchState } from "../../search-state.ts";
import { durationText } from "../../text/duration-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { codeText } from "../../text/shell-text.ts";
import { BackfillPanel } from "./backfill-panel.tsx";
import { CalendarPanel } from "./calendar-panel.tsx";
import { SCHEDULE_ACTIONS, type ScheduleAction, ScheduleDialog } from "./schedule-dialogs.tsx";
import { ScheduleMark } from "./schedule-mark.tsx";
import styles from "./schedules.module.css";

type Schedule = SchedulePage["schedule"];

const UPCOMING_MAX = 14;

export function Page() {
  const id = useItem();
  const namespace = useNamespace();
  const read = useRead<SchedulePage>(within("schedules", id), {}, { live: ["schedules"], everyMs: 10_000 });
  const crumbs = [{ label: "Schedules", to: pagePath(namespace, "schedules") }, { label: safeLine(id) }];
  const schedule = read.data?.schedule;
  return (
    <Frame
      title={safeLine(id)}
      mono
      crumbs={crumbs}
      beside={schedule ? <ScheduleMark schedule={schedule} badge /> : null}
      actions={schedule ? <Actions schedule={schedule} /> : null}
    >
      <Answer read={read}>{(page) => <ScheduleView page={page} />}</Answer>
    </Frame>
  );
}

function Actions({ schedule }: { readonly schedule: Schedule }) {
  const [search, setSearch] = useSearchState();
  const may = useMay("writer");
  const namespace = useNamespace();
  const open = (action: ScheduleAction | undefined) => setSearch({ do: action }, { replace: true });
  const action = SCHEDULE_ACTIONS.find((one) => one === search["do"]);
  return (
    <>
      {may ? (
        <>
          <Button onClick={() => open("trigger")}>Trigger…</Button>
          {schedule.paused ? (
            <Button onClick={() => open("resume")}>Resume…</Button>
          ) : (
            <Button onClick={() => open("pause")}>Pause…</Button>
          )}
          <Button onClick={() => open("backfill")}>Backfill…</Button>
          <Button onClick={() => open("delete")}>Delete…</Button>
        </>
      ) : null}
      <CopyAs
        cli={["holdfast", "schedule", "describe", schedule.id, ...target(namespace)]}
        curl={curlOf(within(namespace, "schedules", schedule.id))}
        typescript={`await hf.schedules.get(${codeText(schedule.id)}).describe()`}
      />
      {may && action ? <ScheduleDialog action={action} schedule={schedule} onClose={() => open(undefined)} /> : null}
    </>
  );
}

function ScheduleView({ page }: { readonly page: SchedulePage }) {
  const { schedule, upcoming, decisions } = page;
  return (
    <>
      <Facts facts={factsOf(schedule)} />
      <Strip schedule={schedule} />
      <div className={styles.columns}>
        <CalendarPanel id={schedule.id} timezone={schedule.spec.timezone ?? "UTC"} />
        <Upcoming times={upcoming} paused={schedule.paused} />
      </div>
      <BackfillPanel id={schedule.id} />
      <Decisions decisions={decisions} />
      <Panel title="Input">
        <div className={styles.pad}>
          <Payload value={schedule.input} label="Input" />
        </div>
      </Panel>
    </>
  );
}

function factsOf(schedule: Schedule): (readonly [string, ReactNode])[] {
  const { workflow, version, when, spec, overlap, queue, catchUp, timeoutMs, createdAt, attributes } = schedule;
  const window = catchUp.windowMs === null ? "" : ` of the last ${durationText(catchUp.windowMs)}`;
  return [
    [
      "workflow",
      <>
        <PageLink page="workflows" item={workflow}>
          {safeLine(workflow)}
        </PageLink>
        {version === null ? "" : ` @ ${safeLine(version)}`}
      </>,
    ],
    ["when", <code key="when">{safeLine(when)}</code>],
    ["zone", safeLine(spec.timezone ?? "UTC")],
    ["overlap", overlap],
    ["queue", safeLine(queue)],
    ["makes up for", `the last ${catchUp.max}${window}`],
    ...(timeoutMs === null ? [] : [["timeout", durationText(timeoutMs)] as const]),
    ...Object.entries(attributes).map(([name, value]) => [safeLine(name), safeLine(String(value))] as const),
    ["created", <Time key="created" at={createdAt} />],
  ];
}

/** What keeps it from starting runs, or makes them fail. */
function Strip({ schedule }: { readonly schedule: Schedule }) {
  const { paused, note, by, openId, openStatus, failures, lastError } = schedule;
  if (paused)
    return (
      <section className={styles.strip} aria-label="Why it waits">
        <p>
          <strong>Paused{by === null ? "" : ` by ${safeLine(by)}`}.</strong> Nothing is started until somebody resumes
          it.
          {note === null ? null : <small>{safeLine(note)}</small>}
        </p>
      </section>
    );
  if (openStatus === "parked" && openId !== null)
    return (
      <section className={styles.strip} aria-label="Why it waits">
        <p>
          <strong>Its run is parked:</strong> <RunLink id={openId} />. Until somebody has looked at it, nothing more is
          started.
        </p>
      </section>
    );
  if (failures === 0) return null;
  return (
    <section className={`${styles.strip} ${styles.failing}`} aria-label="What is wrong">
      <p>
        <strong>{failures === 1 ? "Its last run has failed." : `Its last ${failures} runs have failed.`}</strong>
        {lastError === null ? null : <small>{safeLine(lastError)}</small>}
      </p>
    </section>
  );
}

function Upcoming({ times, paused }: { readonly times: readonly number[]; readonly paused: boolean }) {
  return (
    <Panel title="Upcoming">
      {times.length === 0 ? (
        <Empty title="It is never due again" />
      ) : (
        <>
          {paused ? <p className={styles.pad}>If it were not paused:</p> : null}
          <ol className={styles.times}>
            {times.slice(0, UPCOMING_MAX).map((at) => (
              <li key={at}>
                <Time at={at} />
                <span className="faint">
                  <Age at={at} />
                </span>
              </li>
            ))}
          </ol>
        </>
      )}
    </Panel>
  );
}

const DECISIONS: Readonly<Record<string, State>> = {
  skipped: "continued",
  buffered: "waiting",
  missed: "timed_out",
  failed: "failed",
};

const COLUMNS: readonly Column<ScheduleDecisionRow>[] = [
  { id: "at", header: "Time", width: "140px", narrow: "title", cell: ({ at }) => <Time at={at} /> },
  {
    id: "what",
    header: "What became of it",
    width: "140px",
    cell: ({ what }) => {
      const shape = Object.hasOwn(DECISIONS, what) ? DECISIONS[what] : undefined;
      return shape === undefined ? safeLine(what) : <Status value={shape} word={safeLine(what)} />;
    },
  },
  {
    id: "why",
    header: "Why",
    width: "minmax(140px,2fr)",
    narrow: "detail",
    wrap: true,
    cell: ({ reason }) => <span className="soft">{reason === null ? "" : safeLine(reason)}</span>,
  },
  {
    id: "run",
    header: "Run",
    width: "minmax(160px,1.6fr)",
    narrow: "detail",
    cell: ({ runId, status }) =>
      runId === null ? (
        <span className="faint">–</span>
      ) : (
        <>
          {status === null ? null : <Status value={stateOf(status)} />} <RunLink id={runId} runId={runId} />
        </>
      ),
  },
];

function Decisions({ decisions }: { readonly decisions: readonly ScheduleDecisionRow[] }) {
  return (
    <Panel title="Decisions">
      {decisions.length === 0 ? (
        <Empty title="No time has come yet" />
      ) : (
        <Table
          label="Decisions"
          columns={COLUMNS}
          rows={decisions}
          rowKey={({ at, what, runId }) => `${at} ${what} ${runId ?? ""}`}
        />
      )}
    </Panel>
  );
}
