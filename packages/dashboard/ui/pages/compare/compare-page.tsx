import { type FormEvent, useState } from "react";
import type { ComparedOp, ComparedSide, Comparison, RunDetail } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Button, Segments } from "../../components/button.tsx";
import { Facts, Page as Frame, Panel } from "../../components/page.tsx";
import { Payload, PayloadLine } from "../../components/payload.tsx";
import { Status, stateOf } from "../../components/status.tsx";
import { type Column, Table, TableFoot } from "../../components/table.tsx";
import { Lasted, Time } from "../../components/time.tsx";
import { PageLink, RunLink } from "../../links.tsx";
import { useSearchState } from "../../search-state.ts";
import { countText } from "../../text/count-text.ts";
import { durationText } from "../../text/duration-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import styles from "./compare.module.css";
import { describeParting, differenceText, isParting, slower } from "./parting.ts";

const PAGE_ROWS = 1_000;

export function Page() {
  const [search] = useSearchState();
  const { a, b } = search;
  const both = a !== undefined && b !== undefined;
  return (
    <Frame title="Compare">
      <Choice key={`${a} ${b}`} />
      {both ? (
        <Compared a={a} b={b} />
      ) : (
        <Panel label="Comparison">
          <Empty title="Choose two runs">
            Type their ids, or run ids. They are aligned op by op, and you see where they part: a run that failed beside
            one that did not.
          </Empty>
        </Panel>
      )}
    </Frame>
  );
}

function Choice() {
  const [search, setSearch] = useSearchState();
  const [a, setA] = useState(search["a"] ?? "");
  const [b, setB] = useState(search["b"] ?? "");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSearch({ a: a.trim() || undefined, b: b.trim() || undefined, from: undefined });
  };
  return (
    <Panel label="Runs to compare">
      <form className={styles.choose} onSubmit={submit}>
        <label>
          Run A
          <input value={a} onChange={(event) => setA(event.target.value)} spellCheck={false} autoComplete="off" />
        </label>
        <label>
          Run B
          <input value={b} onChange={(event) => setB(event.target.value)} spellCheck={false} autoComplete="off" />
        </label>
        <Button type="submit" kind="primary">
          Compare
        </Button>
        <Button onClick={() => setSearch({ a: b.trim() || undefined, b: a.trim() || undefined, from: undefined })}>
          Swap
        </Button>
      </form>
    </Panel>
  );
}

function Compared({ a, b }: { readonly a: string; readonly b: string }) {
  const [search, setSearch] = useSearchState();
  const from = Math.max(0, Number(search["from"] ?? 0) || 0);
  const read = useRead<Comparison>("compare", { a, b, offset: from }, { live: ["runs"] });
  return (
    <Answer read={read}>
      {(comparison) => (
        <>
          <section
            className={`${styles.strip} ${comparison.parts === null ? styles.same : ""}`}
            aria-label="Where they part"
          >
            <strong>{safeLine(describeParting(comparison, from))}</strong>{" "}
            {comparison.sameInput ? "They have the same input." : "Their inputs differ."}
          </section>
          <div className={styles.heads}>
            <Head letter="A" run={comparison.a} />
            <Head letter="B" run={comparison.b} />
          </div>
          <Ops
            comparison={comparison}
            from={from}
            onPage={(next) => setSearch({ from: next === 0 ? undefined : String(next) })}
          />
        </>
      )}
    </Answer>
  );
}

function Head({ letter, run }: { readonly letter: "A" | "B"; readonly run: RunDetail }) {
  const { id, runId, workflow, version, state, startedAt, endedAt, createdAt, historyLength } = run;
  const bar = (
    <>
      <h2>{letter}</h2>
      <RunLink id={id} runId={runId} />
      <Status value={stateOf(state)} />
    </>
  );
  return (
    <Panel label={`Run ${letter}`} actions={bar}>
      <div className={styles.head}>
        <Facts
          facts={[
            [
              "workflow",
              <>
                <PageLink page="workflows" item={workflow}>
                  {safeLine(workflow)}
                </PageLink>{" "}
                @ {safeLine(version)}
              </>,
            ],
            ["started", <Time key="started" at={startedAt ?? createdAt} />],
            [
              "lasted",
              <Lasted key="lasted" from={startedAt ?? createdAt} {...(endedAt === null ? {} : { to: endedAt })} />,
            ],
            ["events", countText(historyLength)],
          ]}
        />
        <Payload value={run.input} label={`Input of ${letter}`} />
      </div>
    </Panel>
  );
}

interface OpsProps {
  readonly comparison: Comparison;
  readonly from: number;
  readonly onPage: (from: number) => void;
}

function Ops({ comparison, from, onPage }: OpsProps) {
  const [search, setSearch] = useSearchState();
  const only = search["only"] === "differences";
  const { rows, parts, total, a, b } = comparison;
  const indexed = rows.map((row, index) => ({ row, index: from + index }));
  const shown = only ? indexed.filter(({ row }) => row.differs.length > 0) : indexed;
  const bar = (
    <>
      <h2>Ops</h2>
      <Segments
        label="Which ops"
        value={only ? "differences" : "all"}
        options={[
          { value: "all", label: `All ${countText(total)}` },
          { value: "differences", label: "Differences" },
        ]}
        onChange={(value) => setSearch({ only: value === "differences" ? "differences" : undefined })}
      />
    </>
  );
  return (
    <Panel label="Ops" actions={bar}>
      {shown.length === 0 ? (
        <Empty title={only ? "No op differs" : "Neither has done anything yet"} />
      ) : (
        <Table
          label="Ops of both runs"
          columns={columnsOf(a, b, parts)}
          rows={shown}
          rowKey={({ row }) => row.op}
          selected={({ index }) => index === parts}
        />
      )}
      {total > PAGE_ROWS ? (
        <TableFoot>
          <span>
            {countText(from + 1)} to {countText(from + rows.length)} of {countText(total)}
          </span>
          <Button small disabled={from === 0} onClick={() => onPage(Math.max(0, from - PAGE_ROWS))}>
            Page before
          </Button>
          <Button small disabled={from + rows.length >= total} onClick={() => onPage(from + PAGE_ROWS)}>
            Next page
          </Button>
        </TableFoot>
      ) : null}
    </Panel>
  );
}

interface Indexed {
  readonly row: ComparedOp;
  readonly index: number;
}

function columnsOf(a: RunDetail, b: RunDetail, parts: number | null): Column<Indexed>[] {
  return [
    {
      id: "op",
      header: "Op",
      width: "minmax(120px,.9fr)",
      narrow: "title",
      cell: ({ row, index }) => (
        <>
          <code>{safeLine(row.op)}</code> <span className="faint">{safeLine(row.kind)}</span>{" "}
          {index === parts ? <span className={styles.parts}>they part here</span> : null}
        </>
      ),
    },
    {
      id: "a",
      header: "A",
      width: "minmax(160px,1.4fr)",
      narrow: "detail",
      cell: ({ row }) => <Side letter="A" run={a} op={row.op} side={row.a} />,
    },
    {
      id: "b",
      header: "B",
      width: "minmax(160px,1.4fr)",
      narrow: "detail",
      cell: ({ row }) => <Side letter="B" run={b} op={row.op} side={row.b} />,
    },
    {
      id: "time",
      header: "B − A",
      width: "84px",
      align: "right",
      narrow: "hidden",
      cell: ({ row }) => <Slower row={row} />,
    },
    {
      id: "difference",
      header: "Difference",
      width: "minmax(120px,1fr)",
      narrow: "detail",
      wrap: true,
      cell: ({ row }) => {
        const words = safeLine(differenceText(row));
        return isParting(row) ? (
          <span className={styles.differs}>{words}</span>
        ) : (
          <span className="faint">{words}</span>
        );
      },
    },
  ];
}

interface SideProps {
  readonly letter: "A" | "B";
  readonly run: RunDetail;
  readonly op: string;
  readonly side: ComparedSide | null;
}

function Side({ letter, run, op, side }: SideProps) {
  const mark = <span className={styles.letter}>{letter}: </span>;
  if (side === null)
    return (
      <span className="faint">
        {mark}
        not asked for
      </span>
    );
  const { status, attempts, ms, error, result } = side;
  return (
    <span className={styles.side}>
      <span className={styles.line}>
        {mark}
        <Status value={stateOf(status)} />
        <PageLink page="runs" item={run.runId} search={{ op }}>
          {ms === null ? "open" : durationText(ms)}
          <span className="vh">
            {" "}
            {safeLine(op)} in {letter}
          </span>
        </PageLink>
        {attempts > 1 ? <span className="faint">{attempts} attempts</span> : null}
      </span>
      {error === null || status === "completed" ? (
        <PayloadLine value={result} />
      ) : (
        <code title={safeLine(error.message)}>{safeLine(`${error.code ?? error.name}: ${error.message}`)}</code>
      )}
    </span>
  );
}

function Slower({ row }: { readonly row: ComparedOp }) {
  const ms = slower(row);
  if (ms === null) return <span className="faint">–</span>;
  return <span className="soft">{ms > 0 ? `+${durationText(ms)}` : durationText(ms)}</span>;
}
