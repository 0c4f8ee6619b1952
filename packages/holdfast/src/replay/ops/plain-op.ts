import type { OpModule } from "../op.ts";

/** What most kinds of op have in common; each module overrides what differs. */
export const PLAIN_OP = {
  prefix: "",
  unlimited: false,
  evenCanceled: false,
  leavesRecord: true,
  wakes: true,
  isDone: () => false,
  note: () => false,
  released: () => {},
  shown: ({ kind }) => kind,
} as const satisfies Partial<OpModule>;
