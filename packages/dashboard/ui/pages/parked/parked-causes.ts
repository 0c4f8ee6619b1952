/** What has parked runs, in words, and what to do about it. */
import type { ParkedGroup } from "../../../src/api/api-messages.ts";

export interface CauseText {
  readonly title: string;
  readonly advice: string;
  /** Fixed code takes such runs up by itself. */
  readonly comesBack?: true;
}

const TEXTS: Readonly<Record<string, CauseText>> = {
  replay_divergence: {
    title: "The code does not match the history",
    advice:
      "Deploy code that matches: ctx.patched for new code, ctx.retired for a step that is gone, or a new version. Workers that start with it take these runs up by themselves.",
    comesBack: true,
  },
  workflow_bug: {
    title: "The workflow code has a bug",
    advice: "Deploy fixed code. Workers that start with it take these runs up by themselves.",
    comesBack: true,
  },
  codec_key_missing: {
    title: "A key is missing",
    advice: "Start workers with the key that their payloads name. They take these runs up by themselves.",
    comesBack: true,
  },
  foreign_await: {
    title: "The code waits for something outside of Holdfast",
    advice: "Put outside work into ctx.step, deploy, and resume the runs.",
  },
  paused: { title: "Paused by a person", advice: "Resume them when the reason for the pause is gone." },
  compensation_failed: {
    title: "Failed, and could not be undone",
    advice: "Fix what the compensation failed on, then retry the runs: what was not undone is tried again.",
  },
};

export function causeText(cause: string): CauseText {
  const known = Object.hasOwn(TEXTS, cause) ? TEXTS[cause] : undefined;
  return known ?? { title: `Parked: ${cause}`, advice: "Look at the error, fix its cause, and resume the runs." };
}

/** For the URL: the same as long as the cause is. */
export function causeKey({ cause, workflow }: Pick<ParkedGroup, "cause" | "workflow">): string {
  return `${cause}:${workflow}`;
}

/** The largest first; what people have done on purpose comes last. */
export function inOrder<T extends Pick<ParkedGroup, "cause" | "workflow" | "count">>(groups: readonly T[]): T[] {
  const rank = ({ cause }: T) => (cause === "paused" ? 1 : 0);
  return [...groups].sort((a, b) => rank(a) - rank(b) || b.count - a.count || (causeKey(a) < causeKey(b) ? -1 : 1));
}

/** What brings such a run back: a failed one is retried, a parked one resumed. */
export function remedyOf(cause: string): "resume" | "retry" {
  return cause === "compensation_failed" ? "retry" : "resume";
}
