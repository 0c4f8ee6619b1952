import { useState } from "react";
import type { PayloadView, RunData, RunDetail, ShownValue } from "../../../src/api/api-messages.ts";
import { apiPath, within } from "../../api/api-client.ts";
import { runTopic } from "../../api/live.ts";
import { useNamespace, useRead } from "../../api/reads.ts";
import { Answer } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { KeyValues, Panel } from "../../components/page.tsx";
import { Payload } from "../../components/payload.tsx";
import { safeLine } from "../../text/safe-text.ts";
import { ErrorView } from "./error-text.tsx";
import styles from "./run.module.css";
import { useTimeline } from "./timeline-data.ts";

/** Input, output, attributes; results of ops when they are opened. */
export function DataTab({ run }: { readonly run: RunDetail }) {
  const read = useRead<RunData>(within("runs", run.runId, "data"), {}, { live: [runTopic(run.runId)] });
  return (
    <Answer read={read}>
      {(data) => (
        <>
          <div className={styles.columns}>
            <Panel title="Input">
              <div className={styles.body}>
                <WholePayload run={run} what="input" label="Input" value={data.input} />
              </div>
            </Panel>
            <Panel title={data.error === null ? "Output" : "Error"}>
              <div className={styles.body}>
                {data.error === null ? (
                  <WholePayload run={run} what="output" label="Output" value={data.output} />
                ) : (
                  <ErrorView error={data.error} />
                )}
              </div>
            </Panel>
          </div>
          <Panel title="Attributes">
            <div className={styles.body}>
              {Object.keys(data.attributes).length === 0 ? (
                <p className="faint">none</p>
              ) : (
                <KeyValues
                  facts={Object.entries(data.attributes).map(
                    ([name, value]) => [safeLine(name), safeLine(String(value))] as const,
                  )}
                />
              )}
            </div>
          </Panel>
          <Results run={run} />
        </>
      )}
    </Answer>
  );
}

interface WholePayloadProps {
  readonly run: RunDetail;
  readonly what: "input" | "output" | number;
  readonly label: string;
  readonly value: ShownValue;
}

/** The beginning; more of it when asked for; all of it as a file. */
function WholePayload({ run, what, label, value }: WholePayloadProps) {
  const namespace = useNamespace();
  const [more, setMore] = useState(false);
  const path = within("runs", run.runId, "payload", what);
  const read = useRead<PayloadView>(path, {}, { enabled: more });
  const shown = read.data?.value ?? value;
  const buttons = value.truncated ? (
    <>
      {more ? null : (
        <Button small onClick={() => setMore(true)}>
          Show more
        </Button>
      )}{" "}
      <a href={apiPath(`${within(namespace)}/${path}`, { download: 1 })}>Download all of it</a>
    </>
  ) : undefined;
  return <Payload value={shown} label={label} more={buttons} />;
}

const RESULTS_MAX = 200;

function Results({ run }: { readonly run: RunDetail }) {
  const read = useTimeline(run.runId);
  return (
    <Panel title="Results of ops">
      <div className={styles.body}>
        <Answer read={read} rows={3} isEmpty={({ ops }) => ops.length === 0} empty={<p className="faint">none yet</p>}>
          {({ ops }) => (
            <>
              {ops
                .filter((op) => op.state === "completed" && op.last !== undefined)
                .slice(0, RESULTS_MAX)
                .map((op) => (
                  <ResultFold key={op.op} run={run} op={op.op} seq={op.last ?? 0} />
                ))}
              {ops.length > RESULTS_MAX ? (
                <p className="faint">The first {RESULTS_MAX}. The Events tab has all of them.</p>
              ) : null}
            </>
          )}
        </Answer>
      </div>
    </Panel>
  );
}

function ResultFold({ run, op, seq }: { readonly run: RunDetail; readonly op: string; readonly seq: number }) {
  const [open, setOpen] = useState(false);
  const read = useRead<PayloadView>(within("runs", run.runId, "payload", seq), {}, { enabled: open });
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code>{safeLine(op)}</code>
      </summary>
      {open ? (
        <Answer read={read} rows={1}>
          {({ value }) => <Payload value={value} label={`Result of ${safeLine(op)}`} />}
        </Answer>
      ) : null}
    </details>
  );
}
