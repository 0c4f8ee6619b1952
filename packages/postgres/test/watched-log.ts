import type { Logger } from "holdfast/adapter";
import { silent } from "./test-database.ts";

/** A log whose warnings can be waited for. */
export function watchedLog(): { readonly log: Logger; next(): Promise<Record<string, unknown>> } {
  const seen: Record<string, unknown>[] = [];
  const waiting: ((fields: Record<string, unknown>) => void)[] = [];
  const warn = (fields: object): void => {
    const waiter = waiting.shift();
    if (waiter) waiter(fields as Record<string, unknown>);
    else seen.push(fields as Record<string, unknown>);
  };
  const next = (): Promise<Record<string, unknown>> =>
    new Promise((resolve) => {
      const first = seen.shift();
      if (first) resolve(first);
      else waiting.push(resolve);
    });
  return { log: { ...silent, warn }, next };
}
