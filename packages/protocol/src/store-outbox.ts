/**
 * What one side of a session has to send. Small messages go first, and large bodies in turns, one part each: a heartbeat never
 * waits for more than one part of somebody else's body. What the network does not take stays here, so that it is known what was
 * never sent.
 */
import { Buffer } from "node:buffer";

/** A write is no larger than this and one part. */
const BATCH_BYTES = 64 * 1024;

/** One side of a stream that carries bytes in order, or ends. */
export interface Link {
  /** False: send no more until `drained`. */
  write(bytes: Buffer): boolean;
  /** Stops reading, so that the other side has to wait, and goes on. */
  pause(): void;
  resume(): void;
  /** What has been written is sent first. */
  end(): void;
  /** At once. */
  destroy(): void;
}

export interface LinkEvents {
  data(chunk: Buffer): void;
  drained(): void;
  /** The last one. `error`: why, if not because both sides wanted it. */
  closed(error?: Error): void;
}

interface Waiting {
  readonly parts: readonly (() => Buffer)[];
  next: number;
  readonly watch: SendWatch;
}

export interface SendWatch {
  /** Its first part goes out now. */
  readonly onBegun?: () => void;
  /** Its last part has gone out. */
  readonly onSent?: () => void;
}

export class Outbox {
  readonly #link: Pick<Link, "write">;
  readonly #first: Buffer[] = [];
  readonly #rest: Waiting[] = [];
  #blocked = false;
  #scheduled = false;
  #closed = false;

  constructor(link: Pick<Link, "write">) {
    this.#link = link;
  }

  /** A small message, ahead of all others. */
  sendFirst(message: Buffer): void {
    this.#first.push(message);
    this.#schedule();
  }

  /** A body, made when its turn comes. Returns the function that withdraws it, if it has not begun. */
  send(parts: readonly (() => Buffer)[], watch: SendWatch = {}): () => void {
    const waiting: Waiting = { parts, next: 0, watch };
    this.#rest.push(waiting);
    this.#schedule();
    return () => {
      // A body that has begun must be finished: the other side counts on it.
      const place = waiting.next === 0 ? this.#rest.indexOf(waiting) : -1;
      if (place >= 0) this.#rest.splice(place, 1);
    };
  }

  drained(): void {
    this.#blocked = false;
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#first.length = 0;
    this.#rest.length = 0;
  }

  get empty(): boolean {
    return this.#first.length === 0 && this.#rest.length === 0;
  }

  /** Together with what else is sent in this turn: one write, one packet. */
  #schedule(): void {
    if (this.#scheduled || this.#blocked || this.#closed) return;
    this.#scheduled = true;
    void Promise.resolve().then(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (!this.#blocked && !this.#closed && !this.empty) {
      const batch: Buffer[] = this.#first.splice(0);
      let bytes = batch.reduce((sum, message) => sum + message.length, 0);
      // One part of each that waits, as long as the batch is small.
      for (let turns = this.#rest.length; turns > 0 && bytes < BATCH_BYTES; turns -= 1) {
        const waiting = this.#rest.shift() as Waiting;
        const part = (waiting.parts[waiting.next] as () => Buffer)();
        if (waiting.next === 0) waiting.watch.onBegun?.();
        waiting.next += 1;
        if (waiting.next < waiting.parts.length) this.#rest.push(waiting);
        else waiting.watch.onSent?.();
        batch.push(part);
        bytes += part.length;
      }
      this.#blocked = !this.#link.write(batch.length === 1 ? (batch[0] as Buffer) : Buffer.concat(batch));
    }
  }
}
