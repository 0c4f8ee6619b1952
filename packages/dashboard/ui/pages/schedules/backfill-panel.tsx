import type { Backfill, Backfills } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useRead } from "../../api/reads.ts";
import { Panel } from "../../components/page.tsx";
import { Status } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { countText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import styles from "./schedules.module.css";

const EVERY_MS = 1_000;

/** How far backfills are. Nothing, if there are none. */
export function BackfillPanel({ id }: { readonly id: string }) {
  const read = useRead<Backfills>(within("schedules", id, "backfills"), {}, { live: ["schedules"], everyMs: EVERY_MS });
  const backfills = read.data?.backfills ?? [];
  if (backfills.length === 0) return null;
  return (
    <Panel title="Backfills">
      {backfills.map((backfill) => (
        <Progress key={backfill.id} backfill={backfill} />
      ))}
    </Panel>
  );
}

function Progress({ backfill }: { readonly backfill: Backfill }) {
  const { from, to, times, started, buffered, skipped, at, done, error } = backfill;
  const share = at === null || to <= from ? 0 : (at - from) / (to - from);
  return (
    <div className={styles.fill}>
      <div>
        {error !== null ? (
          <Status value="failed" word={safeLine(error)} />
        ) : done ? (
          <Status value="completed" word="done" />
        ) : (
          <Status value="running" word="in progress" />
        )}{" "}
        <span className="soft">
          <Time at={from} /> to <Time at={to} />
        </span>
      </div>
      <progress value={done ? 1 : Math.min(1, Math.max(0, share))} max={1} aria-label="Progress of the backfill" />
      <div className="soft">
        {countText(times)} times: {countText(started)} started, {countText(buffered)} buffered, {countText(skipped)}{" "}
        skipped
        {at === null || done ? (
          ""
        ) : (
          <>
            {" "}
            · at <Time at={at} />
          </>
        )}
      </div>
    </div>
  );
}
