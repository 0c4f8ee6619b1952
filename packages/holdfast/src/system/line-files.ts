/**
 * Files and streams of lines. A file is written under another name and renamed when it is complete: whoever finds it under its own
 * name has all of it.
 */
import { createReadStream } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";

export interface LineWriter {
  /** Resolves when the next line may be written. */
  write(line: string): Promise<void>;
  /** Everything is written, and a file has its name. */
  finish(): Promise<void>;
  /** Nothing is left of a file; a stream is left as it is. */
  giveUp(): Promise<void>;
}

/** `mark`: makes the name of the unfinished file unique. */
export function writeLines(to: string | Writable, mark: string): LineWriter {
  return typeof to === "string" ? new FileWriter(to, `${to}.${mark}.partial`) : streamWriter(to);
}

class FileWriter implements LineWriter {
  readonly #path: string;
  readonly #partial: string;
  #file: FileHandle | undefined;

  constructor(path: string, partial: string) {
    this.#path = path;
    this.#partial = partial;
  }

  async write(line: string): Promise<void> {
    this.#file ??= await open(this.#partial, "wx", 0o600);
    await this.#file.appendFile(`${line}\n`);
  }

  async finish(): Promise<void> {
    await this.#file?.sync();
    await this.#file?.close();
    await rename(this.#partial, this.#path);
  }

  async giveUp(): Promise<void> {
    await this.#file?.close().catch(() => {});
    await rm(this.#partial, { force: true });
  }
}

function streamWriter(to: Writable): LineWriter {
  // Never taken off: a stream may report its error after the last call of the writer, and without a listener that ends the process.
  to.on("error", () => {});
  return {
    write: (line) =>
      new Promise((resolve, reject) => {
        const closed = (): void => reject(to.errored ?? new Error("the stream is closed"));
        if (to.destroyed || to.writableEnded) return closed();
        // A stream that is destroyed without an error may never call back.
        to.once("close", closed);
        to.write(`${line}\n`, (error) => {
          to.off("close", closed);
          if (error) reject(error);
          else resolve();
        });
      }),
    finish: async () => {},
    giveUp: async () => {},
  };
}

const LINE_FEED = 0x0a;

/** A line is longer than `bytesMax`. */
export class LineTooLong extends Error {}

/** The source of the lines failed: `cause` says how. */
export class SourceFailed extends Error {}

async function* chunksOf(source: Readable): AsyncGenerator<unknown, void> {
  const chunks = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await chunks.next().catch((cause: unknown) => {
        throw new SourceFailed("the source failed", { cause });
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await chunks.return?.();
  }
}

/** The lines, as bytes, without their ends. The last one need not have an end. */
export async function* readLines(from: string | Readable, bytesMax: number): AsyncGenerator<Buffer, void> {
  const source = typeof from === "string" ? createReadStream(from) : from;
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunksOf(source)) {
    let rest = typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk as Uint8Array);
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      parts.push(rest.subarray(0, end));
      if (length + end > bytesMax) throw new LineTooLong();
      yield Buffer.concat(parts);
      [parts, length, rest] = [[], 0, rest.subarray(end + 1)];
    }
    parts.push(rest);
    length += rest.length;
    if (length > bytesMax) throw new LineTooLong();
  }
  if (length > 0) yield Buffer.concat(parts);
}
