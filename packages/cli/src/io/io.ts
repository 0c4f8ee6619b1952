/** The world around the command: what tests replace. */
import type { Readable } from "node:stream";

/** Standard output or standard error. */
export interface Sink {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

export type Core = typeof import("holdfast");
export type Adapter = typeof import("holdfast/adapter");

export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The time now, by the clock of this machine. */
  now(): number;
  /** Resolves after so many milliseconds, or as soon as the signal is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
  /** A number from 0 up to 1. */
  random(): number;
  /** Aborted by Ctrl-C, or by a request to end; the reason is the name of the signal. */
  readonly interrupted: AbortSignal;
  /** The core: that of the project in this folder, if it has one. */
  core(): Promise<Core>;
  /** What programs on a store use, of the same copy. */
  adapter(): Promise<Adapter>;
  /** Loads a TypeScript or JavaScript file of the user. `onImport` is told of it and of what it imports, but for packages. */
  importFile(file: string, onImport?: (file: string) => void): Promise<Record<string, unknown>>;
  /** Loads a package of Holdfast that this command works without: the project's own first. Undefined if it is not installed. */
  importPackage(name: string): Promise<unknown>;
  /** How this program runs, for those that it starts. */
  readonly self: { readonly program: string; readonly nodeArgs: readonly string[]; readonly bin: string };
}
