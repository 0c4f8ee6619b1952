import type { NewLock } from "../../model/lock.ts";

export interface LockRecord extends NewLock {
  /** In the order of the requests. */
  readonly lockNo: number;
  readonly namespace: string;
  readonly runId: string;
  fence: number | null;
  givenBack: boolean;
  /** The newest epoch in which a holder of the run was told that the request waits: what comes later, comes as a message. */
  waitsSince: number | null;
}
