import type { EventsWindow, RunDetail } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Panel } from "../../components/page.tsx";
import { PageLink } from "../../links.tsx";
import { countOf } from "../../text/count-text.ts";
import { EventCells } from "./event-line.tsx";
import styles from "./run.module.css";

const SHOWN = 6;

/** The end of the history, below the timeline: what happened last, in words. */
export function LatestEvents({ run }: { readonly run: RunDetail }) {
  const total = run.historyLength;
  const read = useRead<EventsWindow>(within("runs", run.runId, "events"), {
    from: Math.max(0, total - SHOWN),
    limit: SHOWN,
  });
  const all = (
    <span className="push">
      <PageLink page="runs" item={run.runId} search={{ tab: "events" }}>
        All {countOf(total, "event")}
      </PageLink>
    </span>
  );
  return (
    <Panel title="Latest events" actions={all}>
      <Answer
        read={read}
        rows={SHOWN}
        isEmpty={({ events }) => events.length === 0}
        empty={<Empty title="No events" />}
      >
        {({ events }) => (
          <ul className={styles.latest}>
            {events.toReversed().map((event) => (
              <li key={event.seq}>
                <PageLink
                  page="runs"
                  item={run.runId}
                  search={{ tab: "events", event: String(event.seq) }}
                  className={styles.event}
                >
                  <EventCells seq={event.seq} event={event} />
                </PageLink>
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Panel>
  );
}
