import type { Divergence, RunRow } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useRead } from "../../api/reads.ts";
import { Answer } from "../../components/answers.tsx";
import { PageLink } from "../../links.tsx";
import { safeLine, safeText } from "../../text/safe-text.ts";
import styles from "./parked.module.css";

/** What history says, and what the code did, beside each other. */
export function DivergenceView({ run }: { readonly run: RunRow }) {
  const read = useRead<Divergence>(within("runs", run.runId, "divergence"));
  return (
    <section className={styles.divergence} aria-label={`Divergence of ${safeLine(run.id)}`}>
      <Answer read={read} rows={4}>
        {({ recorded, asked, events, seq }) => (
          <div className={styles.sides}>
            <div className={styles.side}>
              <h3>History says</h3>
              <pre>{safeText(recorded) || "nothing more"}</pre>
              <ol className={styles.events} aria-label="Events around it">
                {events.map((event) => (
                  <li key={event.seq} className={event.seq === seq ? styles.here : undefined}>
                    <PageLink page="runs" item={run.runId} search={{ tab: "events", event: String(event.seq) }}>
                      {event.seq}
                    </PageLink>
                    <span>{safeLine(event.type)}</span>
                    <code>{safeLine(event.op ?? "")}</code>
                    {event.seq === seq ? <span>they part here</span> : null}
                  </li>
                ))}
              </ol>
            </div>
            <div className={styles.side}>
              <h3>The code asked for</h3>
              <pre>{safeText(asked) || "nothing more"}</pre>
            </div>
          </div>
        )}
      </Answer>
    </section>
  );
}
