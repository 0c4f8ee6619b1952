import type { ErrorRecord } from "../model/error-record.ts";

/** An error and when it happened. */
export interface ErrorView extends ErrorRecord {
  readonly at?: Date;
}
