import type { Context } from "../../src/replay/context/context.ts";
import { type Code, checkEveryPrefix, checkSameFuture, crashAndGoOn, playLive } from "./exactness.ts";
import type { LiveRun, Script } from "./live-run.ts";

/** Something that happens when the run has come to rest; several things at once happen in one tick. */
export type Happening = (run: LiveRun) => void;

/** A workflow function that writes down what it observes. */
export type ObservedBody = (ctx: Context, log: (line: string) => void) => unknown;

/** One happening after the other, and that is all. */
class Sequence implements Script {
  position: number;
  readonly #happenings: readonly Happening[];

  constructor(happenings: readonly Happening[], position = 0) {
    this.#happenings = happenings;
    this.position = position;
  }

  next(run: LiveRun): boolean {
    const happening = this.#happenings[this.position];
    if (!happening) return false;
    this.position += 1;
    happening(run);
    return true;
  }
}

/** Plays the run live, replays it from everywhere, and lets it crash everywhere and go on. */
export async function playEverywhere(body: ObservedBody, happenings: readonly Happening[]): Promise<LiveRun> {
  const make = (): Code => {
    const log: string[] = [];
    return { log, body: (ctx) => body(ctx, (line) => void log.push(line)) };
  };
  const live = await playLive(make(), new Sequence(happenings));
  await checkEveryPrefix(live, make);
  for (const cut of live.cuts) {
    if (!cut.resting) continue;
    const resumed = await crashAndGoOn(live, cut, make, new Sequence(happenings, cut.position));
    checkSameFuture(live, resumed, cut);
  }
  return live;
}
