import type { TaskHold } from "./task.ts";

/** What a token says: which attempt of which task, and the secret that proves it. */
export interface TaskToken extends TaskHold {
  readonly secret: string;
}

const TOKEN =
  /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.([1-9][0-9]{0,9})\.([0-9]{1,10})\.([0-9a-f]{32})$/;

export function writeToken({ runId, seq, epoch, secret }: TaskToken): string {
  return `${runId}.${seq}.${epoch}.${secret}`;
}

/** Undefined if the text is not a token. */
export function readToken(text: unknown): TaskToken | undefined {
  const match = typeof text === "string" ? TOKEN.exec(text) : null;
  if (!match) return undefined;
  const [, runId, seq, epoch, secret] = match as unknown as [string, string, string, string, string];
  return { runId, seq: Number(seq), epoch: Number(epoch), secret };
}
