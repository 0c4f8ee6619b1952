/** The schedules of a round, and what their runs do. All of them beat every second or two, from a moment until a later one. */
import { type OverlapPolicy, type ScheduleOptions, signal, workflow } from "holdfast";

const never = signal("never");

/** Ends soon. */
const quick = workflow("beat-quick", (ctx) => ctx.step("note", () => "done"));
/** Takes longer than from one beat to the next. */
const slow = workflow("beat-slow", async (ctx) => {
  await ctx.step("note", () => "begun");
  await ctx.sleep("work", { milliseconds: 1_300 });
  return "done";
});
/** Ends only if it is stopped. */
const endless = workflow("beat-endless", async (ctx) => {
  await ctx.receive(never);
});

export const DEFINITIONS = [quick, slow, endless];
/** Somebody else's run, under the id of a run of a schedule. */
export const foreign = workflow("beat-foreign", async (ctx) => {
  await ctx.receive(never);
});

/** What is expected of a schedule. */
export interface Beat {
  readonly id: string;
  readonly overlap: OverlapPolicy;
  readonly everyMs: number;
  /** The run of one time never ends by itself. */
  readonly endless: boolean;
  /** Other runs have the ids of some of its times. */
  readonly foreign: boolean;
}

const SECOND = 1_000;
/** Enough for several pages and batches of a pass that comes late. */
const CROWD = 30;

/** The schedules of one round; their ids begin with the prefix. */
export function beatsOf(prefix: string): Beat[] {
  const beat = (name: string, overlap: OverlapPolicy, fields: Partial<Beat> = {}): Beat => ({
    id: `${prefix}${name}`,
    overlap,
    everyMs: SECOND,
    endless: false,
    foreign: false,
    ...fields,
  });
  return [
    beat("allow", "allow"),
    beat("jitter", "allow"),
    beat("skip", "skip"),
    beat("buffer-one", "buffer-one"),
    beat("buffer-all", "buffer-all", { everyMs: 2 * SECOND }),
    beat("cancel-other", "cancel-other", { endless: true }),
    beat("terminate-other", "terminate-other", { endless: true }),
    beat("beside-foreign", "terminate-other", { endless: true, foreign: true }),
    ...Array.from({ length: CROWD }, (_, i) => beat(`crowd-${i}`, "allow", { everyMs: 2 * SECOND })),
  ];
}

export function scheduleOf(beat: Beat, fromMs: number, untilMs: number): ScheduleOptions {
  const { id, overlap, everyMs } = beat;
  return {
    id,
    overlap,
    workflow: (beat.endless ? endless : overlap === "allow" ? quick : slow).name,
    every: { milliseconds: everyMs },
    from: new Date(fromMs),
    until: new Date(untilMs),
    ...(id.endsWith("jitter") ? { jitter: { milliseconds: 500 } } : {}),
  };
}

/** When it is due. */
export function timesOf({ everyMs }: Beat, fromMs: number, untilMs: number): number[] {
  const times: number[] = [];
  for (let at = Math.ceil(fromMs / everyMs) * everyMs; at <= untilMs; at += everyMs) times.push(at);
  return times;
}

/** The times whose ids somebody else has taken: every third. */
export function foreignTimesOf(beat: Beat, fromMs: number, untilMs: number): number[] {
  return beat.foreign ? timesOf(beat, fromMs, untilMs).filter((_, i) => i % 3 === 1) : [];
}
