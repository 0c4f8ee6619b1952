import type { Payload } from "../../model/payload.ts";
import type { ChildWork } from "./child-work.ts";

/** The run that a message is for: the run of that run id and its continuations, or the newest of the id. */
export interface MessageTarget {
  readonly namespace: string;
  readonly id: string;
  readonly runId?: string;
}

/** What is asked of another run. */
export type MessageContent =
  | { readonly type: "signal"; readonly name: string; readonly payload: Payload }
  | { readonly type: "update"; readonly name: string; readonly payload: Payload }
  | { readonly type: "cancel"; readonly reason: string }
  /** To be told of its end. `workflow`: what it must be a run of, if the code says so. */
  | { readonly type: "result"; readonly workflow: string | undefined };

/** Something for another run, and whom it is for. */
export interface MessageWork {
  /** Of a child that the code has named by its handle: the run that is that child by now. */
  readonly to: MessageTarget;
  /** That child. */
  readonly child?: ChildWork;
  readonly content: MessageContent;
  /** The run was retried: not before then. */
  retryAt?: number | undefined;
}

const childrenOfHandles = new WeakMap<object, ChildWork>();

/** What is sent to the handle is for that child. */
export function noteHandle(handle: object, child: ChildWork): void {
  childrenOfHandles.set(handle, child);
}

/** `target`: what the code has named; `to`: the run that this was at that moment. */
export function messageFor(target: unknown, to: MessageTarget, content: MessageContent): MessageWork {
  const child = typeof target === "object" && target !== null ? childrenOfHandles.get(target) : undefined;
  if (!child) return { to, content };
  return {
    content,
    child,
    get to() {
      const { id, runId } = child.identity;
      return { namespace: to.namespace, id, runId };
    },
  };
}
