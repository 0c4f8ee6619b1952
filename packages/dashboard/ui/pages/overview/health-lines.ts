import { durationText } from "../../text/duration-text.ts";

const MINUTE_MS = 60_000;
/** Of so many workers it is said what is wrong with them; the others are on their page. */
const WORKERS_MAX = 3;
const OF_WORKER = /^Worker .+ is .+; its last heartbeat is \d+ s old\.$/s;
const AGE = /(\d+) s (old|ago)\.$/;

export interface HealthLines {
  readonly lines: readonly string[];
  /** Workers left out of the lines. */
  readonly moreWorkers: number;
}

/** The reasons of `hf.health()`, without a line for each of many dead workers. */
export function healthLines(reasons: readonly string[]): HealthLines {
  const ofWorkers = reasons.filter((reason) => OF_WORKER.test(reason));
  const others = ofWorkers.length - WORKERS_MAX;
  if (others <= 0) return { lines: reasons.map(withAge), moreWorkers: 0 };
  const until = reasons.indexOf(ofWorkers[WORKERS_MAX] as string);
  const shown = reasons.filter((reason, index) => index < until || !OF_WORKER.test(reason));
  return { lines: shown.map(withAge), moreWorkers: others };
}

/** "542 s old" is "9 m old". */
function withAge(reason: string): string {
  return reason.replace(AGE, (_, seconds: string, word: string) => {
    const ms = Number(seconds) * 1_000;
    return `${durationText(ms < MINUTE_MS ? ms : Math.floor(ms / MINUTE_MS) * MINUTE_MS)} ${word}.`;
  });
}
