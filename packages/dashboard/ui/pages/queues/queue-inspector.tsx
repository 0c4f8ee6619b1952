import { useState } from "react";
import type { QueueLoad, QueueRow, QueueWaiters } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useRead } from "../../api/reads.ts";
import { useMay } from "../../api/session.tsx";
import { Answer } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { Tag } from "../../components/chips.tsx";
import { KeyValues } from "../../components/page.tsx";
import { Age } from "../../components/time.tsx";
import { PageLink, RunLink } from "../../links.tsx";
import { countText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Inspector, InspectorSection } from "../parts/split.tsx";
import { LimitDialog } from "./limit-dialog.tsx";
import { describeLimits } from "./limit-form.ts";
import styles from "./queues.module.css";

const SHOWN_MAX = 20;

export function QueueInspector({ queue, onClose }: { readonly queue: QueueRow; readonly onClose: () => void }) {
  const [changing, setChanging] = useState(false);
  const admin = useMay("admin");
  const words = describeLimits(queue.limits);
  return (
    <Inspector label="Selected queue" title={<span className="mono">{safeLine(queue.name)}</span>} onClose={onClose}>
      <InspectorSection title="Limits">
        {words.length === 0 ? (
          <p className="soft">None. Workers claim what is due, the largest priority first.</p>
        ) : (
          <div className={styles.words}>
            {words.map((word) => (
              <Tag key={word}>{safeLine(word)}</Tag>
            ))}
          </div>
        )}
        {admin ? <Button onClick={() => setChanging(true)}>Change limits…</Button> : null}
      </InspectorSection>
      <InspectorSection title="Load">
        <KeyValues
          facts={[
            ["runs", loadText(queue.runs)],
            ["tasks", loadText(queue.tasks)],
          ]}
        />
        <p>
          <PageLink page="runs" search={{ queue: queue.name }}>
            Runs of this queue
          </PageLink>
        </p>
      </InspectorSection>
      <Waiters queue={queue} />
      <Holders title="Runs that have a place" load={queue.runs} />
      <Holders title="Tasks that have a place" load={queue.tasks} />
      {changing ? <LimitDialog queue={queue} onClose={() => setChanging(false)} /> : null}
    </Inspector>
  );
}

function loadText({ waiting, running }: QueueLoad): string {
  return `${countText(waiting)} waiting, ${countText(running)} in progress`;
}

function Waiters({ queue }: { readonly queue: QueueRow }) {
  const read = useRead<QueueWaiters>(
    within("queues", queue.name, "waiting"),
    { limit: SHOWN_MAX },
    { live: ["queues"] },
  );
  return (
    <Answer read={read} rows={3}>
      {({ keys, runs, capped }) => (
        <>
          {keys.length === 0 ? null : (
            <InspectorSection title="By key">
              <table className={styles.keys}>
                <thead>
                  <tr>
                    <th scope="col">Key</th>
                    <th scope="col">Have a place</th>
                    <th scope="col">Wait</th>
                  </tr>
                </thead>
                <tbody>
                  {keys.map(({ key, holders, waiting }) => (
                    <tr key={key ?? ""}>
                      <td>{key === null ? <span className="faint">none</span> : <code>{safeLine(key)}</code>}</td>
                      <td>{countText(holders)}</td>
                      <td>
                        {countText(waiting)}
                        {capped ? "+" : ""}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </InspectorSection>
          )}
          <InspectorSection title="Runs that wait, the oldest first">
            {runs.length === 0 ? (
              <p className="faint">None.</p>
            ) : (
              <ol className={styles.list}>
                {runs.map(({ id, runId, key, availableAt, createdAt }) => (
                  <li key={runId}>
                    <RunLink id={id} runId={runId} />
                    {key === null ? null : <Tag>{safeLine(key)}</Tag>}
                    <span className="faint">
                      <Age at={availableAt ?? createdAt} />
                    </span>
                  </li>
                ))}
              </ol>
            )}
          </InspectorSection>
        </>
      )}
    </Answer>
  );
}

function Holders({ title, load }: { readonly title: string; readonly load: QueueLoad }) {
  if (load.holders.length === 0) return null;
  return (
    <InspectorSection title={title}>
      <ol className={styles.list}>
        {load.holders.slice(0, SHOWN_MAX).map(({ id, runId, key, op, since }) => (
          <li key={`${runId} ${op ?? ""}`}>
            <RunLink id={id} runId={runId} />
            {op === undefined ? null : <code>{safeLine(op)}</code>}
            {key === null ? null : <Tag>{safeLine(key)}</Tag>}
            <span className="faint">
              <Age at={since} />
            </span>
          </li>
        ))}
      </ol>
      {load.holders.length > SHOWN_MAX ? <p className="faint">and {load.holders.length - SHOWN_MAX} more</p> : null}
    </InspectorSection>
  );
}
