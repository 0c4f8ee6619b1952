import type { BatchRow } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useRead } from "../../api/reads.ts";
import { IconButton } from "../../components/button.tsx";
import { type State, Status } from "../../components/status.tsx";
import { useSearchState } from "../../search-state.ts";
import { countText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import styles from "./batch-strip.module.css";

const SHAPES: Readonly<Record<string, State>> = {
  running: "running",
  paused: "parked",
  completed: "completed",
  canceled: "canceled",
  failed: "failed",
};

/** How far the batch of `?batch=` is. */
export function BatchStrip() {
  const [search, setSearch] = useSearchState();
  const id = search["batch"];
  const read = useRead<BatchRow>(
    within("batches", id ?? ""),
    {},
    { enabled: id !== undefined, live: ["batches"], everyMs: 1_000 },
  );
  const batch = read.data;
  if (id === undefined || batch === undefined) return null;
  const { action, status, matched, done, skippedCount, skipped } = batch;
  const shape = (Object.hasOwn(SHAPES, status) ? SHAPES[status] : undefined) ?? "pending";
  const reasons = [...new Set(skipped.map(({ code }) => code))].slice(0, 3).join(", ");
  return (
    <section className={styles.strip} aria-label="Batch">
      <div className={styles.line}>
        <strong>Batch: {safeLine(action)}</strong>
        <Status value={shape} word={safeLine(status)} />
        <span className="soft">
          {countText(done)} of {countText(matched)} done, {countText(skippedCount)} skipped
          {reasons === "" ? "" : ` (${safeLine(reasons)})`}
        </span>
        <span className="push">
          <IconButton label="Close" icon="x" small onClick={() => setSearch({ batch: undefined }, { replace: true })} />
        </span>
      </div>
      <progress value={done + skippedCount} max={Math.max(1, matched)} aria-label="Progress of the batch" />
    </section>
  );
}
