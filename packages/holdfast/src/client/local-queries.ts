import type { Payload } from "../model/payload.ts";
import type { Run } from "../model/run.ts";

/** The first answer that is not undefined. */
export function firstOf<W, T>(workers: readonly W[], ask: (worker: W) => T | undefined): T | undefined {
  for (const worker of workers) {
    const answer = ask(worker);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** The workers of this process, as far as they answer queries. */
export interface LocalQueries {
  /** Undefined if no worker here holds the run; a promise of it if the run leaves before it has answered. */
  live(runId: string, name: string, argument: Payload): Promise<Payload | undefined> | undefined;
  /** Undefined if the code of the run is not here. */
  replayed(run: Run, name: string, argument: Payload): Promise<Payload> | undefined;
}

/** The list may grow. */
export function localQueries(workers: readonly { readonly queries: LocalQueries }[]): LocalQueries {
  return {
    live: (...asked) => firstOf(workers, ({ queries }) => queries.live(...asked)),
    replayed: (...asked) => firstOf(workers, ({ queries }) => queries.replayed(...asked)),
  };
}
