// One run: what it is, why it waits and the button that resolves it, and everything that happened.
import { lazy, type ReactNode, Suspense } from "react";
import type { RunDetail, RunPage } from "../../../src/api/api-messages.ts";
import { apiPath, target, within } from "../../api/api-client.ts";
import { runTopic, useLive } from "../../api/live.ts";
import { useItem, useNamespace, useRead } from "../../api/reads.ts";
import { Answer, Loading } from "../../components/answers.tsx";
import { CopyAs } from "../../components/copy-as.tsx";
import { Facts, Page as PageFrame } from "../../components/page.tsx";
import { Status, stateOf } from "../../components/status.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { Age, Lasted, Time } from "../../components/time.tsx";
import { PageLink, pagePath, RunLink } from "../../links.tsx";
import { useSearchState } from "../../search-state.ts";
import { cappedText, countText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { codeText } from "../../text/shell-text.ts";
import { RunActions } from "./run-actions.tsx";
import { TimelineTab } from "./timeline-tab.tsx";
import { WhyStrip } from "./why-strip.tsx";

export function Page() {
  const item = useItem();
  const read = useRead<RunPage>(within("runs", item), {}, { followed: true });
  const namespace = useNamespace();
  const run = read.data?.run;
  // A page that was opened by id follows the run that it has found.
  useLive(run === undefined ? [] : [runTopic(run.runId)], () => void read.refetch());
  const id = safeLine(run?.id ?? item);
  const crumbs = [
    { label: "Runs", to: pagePath(namespace, "runs") },
    ...(run === undefined
      ? []
      : [{ label: safeLine(run.workflow), to: pagePath(namespace, "workflows", run.workflow) }]),
    { label: id },
  ];
  return (
    <PageFrame
      title={id}
      mono
      crumbs={crumbs}
      beside={
        run === undefined ? undefined : (
          <Status value={stateOf(run.state)} word={run.paused ? "paused" : undefined} badge />
        )
      }
      actions={
        run === undefined ? undefined : (
          <>
            <RunActions run={run} />
            <CopyRun run={run} />
          </>
        )
      }
    >
      <Answer read={read}>
        {(page) => (
          <>
            <RunFacts run={page.run} />
            <WhyStrip run={page.run} why={page.why} />
            <RunTabs run={page.run} />
          </>
        )}
      </Answer>
    </PageFrame>
  );
}

// The timeline is what most visits look at; the other tabs are loaded when they are opened.
const AuditTab = lazy(async () => ({ default: (await import("./audit-tab.tsx")).AuditTab }));
const CompareTab = lazy(async () => ({ default: (await import("./compare-tab.tsx")).CompareTab }));
const CompensationTab = lazy(async () => ({ default: (await import("./compensation-tab.tsx")).CompensationTab }));
const DataTab = lazy(async () => ({ default: (await import("./data-tab.tsx")).DataTab }));
const EventsTab = lazy(async () => ({ default: (await import("./events-tab.tsx")).EventsTab }));
const RelationsTab = lazy(async () => ({ default: (await import("./relations-tab.tsx")).RelationsTab }));

const TABS = ["timeline", "events", "data", "relations", "compensation", "compare", "audit"] as const;
type TabId = (typeof TABS)[number];

function RunTabs({ run }: { readonly run: RunDetail }) {
  const [search, change] = useSearchState();
  const tab = TABS.find((id) => id === search.tab) ?? "timeline";
  const tabs = [
    { id: "timeline", label: "Timeline" },
    { id: "events", label: "Events", count: countText(run.historyLength) },
    { id: "data", label: "Data" },
    {
      id: "relations",
      label: "Relations",
      ...(run.related === 0 ? {} : { count: cappedText(run.related, run.relatedCapped) }),
    },
    {
      id: "compensation",
      label: "Compensation",
      ...(run.compensations.length === 0 ? {} : { count: run.compensations.length }),
    },
    { id: "compare", label: "Compare" },
    { id: "audit", label: "Audit" },
  ] as const;
  return (
    <Tabs<TabId> label="Run" tabs={tabs} value={tab} onChange={(next) => change({ ...CLEARED, tab: next })}>
      <Suspense fallback={<Loading />}>{panelOf(tab, run)}</Suspense>
    </Tabs>
  );
}

/** What belongs to one tab only. */
const CLEARED = {
  op: undefined,
  from: undefined,
  to: undefined,
  event: undefined,
  failed: undefined,
  ops: undefined,
  types: undefined,
};

function panelOf(tab: TabId, run: RunDetail): ReactNode {
  switch (tab) {
    case "timeline":
      return <TimelineTab run={run} />;
    case "events":
      return <EventsTab run={run} />;
    case "data":
      return <DataTab run={run} />;
    case "relations":
      return <RelationsTab run={run} />;
    case "compensation":
      return <CompensationTab run={run} />;
    case "compare":
      return <CompareTab run={run} />;
    case "audit":
      return <AuditTab run={run} />;
  }
}

function RunFacts({ run }: { readonly run: RunDetail }) {
  const started = run.startedAt ?? run.createdAt;
  const attributes = Object.entries(run.attributes).map(
    ([name, value]) => [safeLine(name), safeLine(Array.isArray(value) ? value.join(", ") : String(value))] as const,
  );
  return (
    <Facts
      facts={[
        ["workflow", <WorkflowFact key="w" run={run} />],
        [
          "queue",
          <PageLink key="q" page="queues" search={{ queue: run.queue }}>
            {safeLine(run.queue)}
          </PageLink>,
        ],
        [
          run.startedAt === null ? "created" : "started",
          <span key="s">
            <Time at={started} />, <Age at={started} />
          </span>,
        ],
        ...(run.endedAt === null
          ? []
          : [
              ["took", <Lasted key="t" from={started} to={run.endedAt} />] as const,
              ["ended", <Time key="e" at={run.endedAt} />] as const,
            ]),
        ["events", countText(run.historyLength)],
        ...(run.schedule === null
          ? []
          : [
              [
                "by",
                <PageLink key="b" page="schedules" item={run.schedule}>
                  schedule {safeLine(run.schedule)}
                </PageLink>,
              ] as const,
            ]),
        ...(run.parent === null
          ? []
          : [["parent", <RunLink key="p" id={run.parent.id} runId={run.parent.runId} />] as const]),
        ...(run.forkedFrom === null
          ? []
          : [["forked from", <RunLink key="f" id={run.forkedFrom.id} runId={run.forkedFrom.runId} />] as const]),
        ...attributes,
      ]}
    />
  );
}

function WorkflowFact({ run }: { readonly run: RunDetail }) {
  return (
    <>
      <PageLink page="workflows" item={run.workflow}>
        {safeLine(run.workflow)}
      </PageLink>{" "}
      @ {safeLine(run.version)}
    </>
  );
}

function CopyRun({ run }: { readonly run: RunDetail }) {
  const namespace = useNamespace();
  const api = new URL(apiPath(within(namespace, "runs", run.runId)), location.href).href;
  return (
    <CopyAs
      cli={["holdfast", "workflow", "describe", run.id, ...target(namespace)]}
      curl={{ method: "GET", url: api, token: true }}
      typescript={`await hf.get(${codeText(run.id)}).describe();`}
    />
  );
}
