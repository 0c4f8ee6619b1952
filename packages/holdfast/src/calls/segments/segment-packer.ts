/**
 * Packs the unpacked end of long histories that this worker has had to read as a whole, so that the next reader need not. It works
 * in the background and in small pieces, while the run goes on. What it does may fail or be cut off at any point.
 */
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import type { HistoryEvent } from "../../model/event.ts";
import type { Segment } from "../../model/segment.ts";
import type { Timer } from "../../ports/clock.ts";
import type { PortsBundle } from "../ports-bundle.ts";
import { packSegment } from "./segment-format.ts";
import { type LongRun, segmentSize } from "./segmented-history.ts";

/** Where events are larger than 8 KiB on average, their bytes take the time and not their number: they are left as they are. */
const PAYLOAD_BYTES_MAX = 4 * 1024 * 1024;
const SEGMENTS_PER_CALL = 10;
/** Packing a segment takes about 2 ms, in which no run of this process can do anything. */
const PAUSE_MS = 20;

/** A history as it was read. */
export interface ReadHistory {
  readonly events: readonly HistoryEvent[];
  /** How many of them were in segments. */
  readonly packed: number;
  readonly edition: number;
  readonly damaged: boolean;
}

interface Job extends ReadHistory {
  readonly run: LongRun;
}

export class SegmentPacker {
  readonly #ports: PortsBundle;
  /** By run: only what was read last counts. */
  readonly #jobs = new Map<string, Job>();
  #timer: Timer | undefined;
  #working = false;
  #closed = false;

  constructor(ports: PortsBundle) {
    this.#ports = ports;
  }

  /** Packs what is not packed yet, if it is much. */
  offer(run: LongRun, history: ReadHistory): void {
    if (this.#closed || !this.#ports.store.capabilities.segments) return;
    if (history.events.length - history.packed <= segmentSize(this.#ports)) return;
    this.#jobs.set(run.runId, { run, ...history });
    if (!this.#working) void this.#work();
  }

  close(): void {
    this.#closed = true;
    this.#jobs.clear();
    this.#timer?.cancel();
  }

  async #work(): Promise<void> {
    this.#working = true;
    for (const [runId, job] of this.#jobs) {
      this.#jobs.delete(runId);
      await this.#pack(job);
    }
    this.#working = false;
  }

  async #pack(job: Job): Promise<void> {
    try {
      await this.#packAll(job, await this.#begin(job));
    } catch (error) {
      const { runId } = job.run;
      const code = isHoldfastError(error) ? error.code : String(error);
      this.#ports.log.debug(
        { runId, code },
        "a long history was not packed; the next worker that reads it tries again",
      );
    }
  }

  /** Damaged segments go first. Then all of it is packed anew, unless another worker was faster. */
  async #begin({ run, packed, edition, damaged }: Job): Promise<{ packed: number; edition: number } | undefined> {
    if (!damaged) return { packed, edition };
    const [raised] = await this.#ports.store.segments.drop({ runs: [run] });
    return raised === edition + 1 ? { packed: 0, edition: raised } : undefined;
  }

  async #packAll({ run, events }: Job, begin: { packed: number; edition: number } | undefined): Promise<void> {
    if (!begin) return;
    const { store } = this.#ports;
    const { namespace, runId } = run;
    const size = segmentSize(this.#ports);
    const segments: Segment[] = [];
    let from = begin.packed;
    for (let more = true; more && !this.#closed; ) {
      await this.#pause();
      const stretch = events.slice(from, from + size);
      more = stretch.length === size && payloadBytes(stretch) <= PAYLOAD_BYTES_MAX && !this.#closed;
      if (more) segments.push(packSegment(stretch));
      from += size;
      if (segments.length === 0 || (more && segments.length < SEGMENTS_PER_CALL)) continue;
      const { added } = await store.segments.addIfCurrent({
        namespace,
        runId,
        edition: begin.edition,
        segments: segments.splice(0),
      });
      // Another worker was faster, or the payloads were rewritten.
      if (!added) return;
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#timer = this.#ports.clock.setTimer(PAUSE_MS, resolve);
      this.#timer.unref?.();
    });
  }
}

function payloadBytes(events: readonly HistoryEvent[]): number {
  return events.reduce((bytes, { payload }) => bytes + (payload?.length ?? 0), 0);
}
