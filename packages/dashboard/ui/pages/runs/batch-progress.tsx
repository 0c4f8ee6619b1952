import type { BatchesView, BatchRow } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useAct, useRead } from "../../api/reads.ts";
import { serverNow } from "../../api/server-clock.ts";
import { useMay } from "../../api/session.tsx";
import { Button } from "../../components/button.tsx";
import { countOf, countText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import styles from "./runs.module.css";

/** A batch that has ended stays in sight for this long. */
const SHOWN_MS = 60_000;

/** Batches that go on, or have just ended. */
export function BatchProgress() {
  const { data } = useRead<BatchesView>("batches", {}, { live: ["batches"], everyMs: 5000 });
  const shown = (data?.batches ?? [])
    .filter(({ endedAt }) => endedAt === null || serverNow() - endedAt < SHOWN_MS)
    .slice(0, 3);
  return shown.map((batch) => <Job key={batch.id} batch={batch} />);
}

function Job({ batch }: { readonly batch: BatchRow }) {
  const act = useAct();
  const may = useMay("writer");
  const met = batch.done + batch.skippedCount;
  const reasons = [...new Set(batch.skipped.map(({ code }) => code))].slice(0, 3).map(safeLine).join(", ");
  const skipped =
    batch.skippedCount === 0
      ? ""
      : ` · ${countText(batch.skippedCount)} skipped${reasons === "" ? "" : ` (${reasons})`}`;
  const open = batch.endedAt === null;
  return (
    // Its figures change every second: only what has become of it is read out.
    <section className={styles.job} role="status" aria-live="off" aria-label="Bulk action">
      <span className="vh" aria-live="polite">
        {safeLine(batch.action)}: {safeLine(batch.status)}
      </span>
      <div>
        <strong>
          {safeLine(batch.action)} {countOf(batch.matched, "run")}: {safeLine(batch.status)}
        </strong>
        <small>
          {countText(batch.done)} done{skipped}
          {batch.by === null ? "" : ` · by ${safeLine(batch.by)}`}
        </small>
        <span className="push" />
        {open && may ? (
          <>
            {batch.status === "paused" ? (
              <Button onClick={() => void act(within("batches", batch.id, "resume"))}>Go on</Button>
            ) : (
              <Button onClick={() => void act(within("batches", batch.id, "pause"))}>Pause</Button>
            )}
            <Button onClick={() => void act(within("batches", batch.id, "cancel"))}>Stop</Button>
          </>
        ) : null}
      </div>
      <progress value={met} max={Math.max(1, batch.matched)} aria-label="Progress of the bulk action" />
    </section>
  );
}
