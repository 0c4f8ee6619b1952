/**
 * A `RunRest` as text: JSON, with bytes and error records in base64. Stores keep it between a departure and its end, PostgreSQL
 * writes it in SQL, and a line of an export has it.
 */
import type { ErrorRecord } from "./error-record.ts";
import type { MessageKind } from "./message.ts";
import type { RunStatus } from "./run.ts";
import type { TaskFailure } from "./task.ts";
import type { RunRest, TaskImage } from "./transfer.ts";

export type TaskText = Omit<TaskImage, "details" | "failures"> & {
  readonly details: string | null;
  readonly failures: string | null;
};

export interface RestText {
  readonly status: RunStatus;
  readonly availableAt: number | null;
  readonly waitingFor: readonly string[];
  readonly error: string | null;
  readonly parkedBy: string | null;
  readonly knownIds: readonly (readonly [messageId: string, kind: MessageKind])[];
  readonly updates: readonly (readonly [number: number, seq: number | null, error: string | null])[];
  readonly tasks: readonly TaskText[];
}

export function restText(rest: RunRest): RestText {
  const { status, availableAt, waitingFor, parkedBy } = rest;
  return {
    ...{ status, availableAt, waitingFor, parkedBy },
    error: jsonText(rest.error),
    knownIds: rest.knownIds.map(({ messageId, kind }) => [messageId, kind]),
    updates: rest.updates.map(({ number, seq, error }) => [number, seq, jsonText(error)]),
    tasks: rest.tasks.map((task) => ({
      ...task,
      details: task.details === null ? null : bytesText(task.details),
      failures: task.failures.length === 0 ? null : jsonText(task.failures),
    })),
  };
}

export function restOfText(text: RestText): RunRest {
  const { status, availableAt, waitingFor, parkedBy } = text;
  return {
    ...{ status, availableAt, waitingFor, parkedBy },
    error: jsonOfText<ErrorRecord>(text.error),
    knownIds: text.knownIds.map(([messageId, kind]) => ({ messageId, kind })),
    updates: text.updates.map(([number, seq, error]) => ({ number, seq, error: jsonOfText<ErrorRecord>(error) })),
    tasks: text.tasks.map((task) => ({
      ...task,
      details: task.details === null ? null : bytesOfText(task.details),
      failures: jsonOfText<TaskFailure[]>(task.failures) ?? [],
    })),
  };
}

export function bytesText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

export function bytesOfText(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "base64"));
}

function jsonText(value: object | null): string | null {
  return value === null ? null : Buffer.from(JSON.stringify(value)).toString("base64");
}

function jsonOfText<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(Buffer.from(text, "base64").toString()) as T);
}
