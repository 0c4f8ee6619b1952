import type { Duration } from "../model/duration.ts";
import type { Attributes, AttributeValue } from "../model/event.ts";
import type { RunStatus } from "../model/run.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";
import type { StoreOptions } from "../ports/open-store.ts";

export interface ConnectOptions extends StoreOptions {
  /** Tenant: runs, ids and workers of different namespaces never see each other. Default `"default"`. */
  readonly namespace?: string;
  readonly codec?: Codec;
  readonly logger?: Logger;
}

export interface StartOptions {
  /** Starting the same id again gives the same run. Default: a new id. */
  readonly id?: string;
  readonly version?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly startAt?: Date;
  readonly delay?: Duration;
  readonly timeout?: Duration;
  readonly attributes?: Attributes;
  /** When an open run has this id. Default `"return"`. */
  readonly ifRunning?: "return" | "fail" | "replace";
  /** When the newest run of this id is closed. Default `"return"`. */
  readonly ifClosed?: "return" | "start" | "fail";
}

export interface ListFilter {
  readonly workflow?: string;
  readonly version?: string;
  readonly id?: string;
  readonly status?: RunStatus | readonly RunStatus[];
  readonly queue?: string;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
}

export interface ListOptions extends ListFilter {
  readonly limit?: number;
  /** From the page before. */
  readonly cursor?: string;
}
