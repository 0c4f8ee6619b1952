import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { backoff, untilAnswered } from "../../calls/store-retry.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import type { Run } from "../../model/run.ts";
import type { RunCommit, Transition } from "../../ports/store.ts";

/**
 * A claimed run whose history cannot be read. One that is damaged is parked, so that it is not claimed again and again; for
 * any other reason it is given back after a pause.
 */
export async function giveUpRun(ports: PortsBundle, workerId: string, run: Run, error: unknown): Promise<void> {
  const { namespace, runId, epoch } = run;
  const damaged = isHoldfastError(error, "invariant_broken");
  const what = damaged ? "parking it" : "giving it back";
  ports.log.error({ runId, error: String(error) }, `could not read the history of a claimed run; ${what}`);
  const release = (): Promise<unknown> =>
    ports.store.runs.releaseIfHeld({ namespace, workerId, runs: [{ runId, epoch }] });
  if (!damaged) await backoff(ports, 5);
  // If this fails as well, the next heartbeats show that the store thinks we hold it, and it is given back then.
  await (damaged ? ports.store.runs.commit({ commits: [parkCommit(run, workerId, error)] }) : release()).catch(
    () => {},
  );
}

/** A run that the store has given us and that we cannot run. */
export async function giveBackRun(ports: PortsBundle, workerId: string, run: Run): Promise<void> {
  const { namespace, runId, epoch } = run;
  const params = { namespace, workerId, runs: [{ runId, epoch }] };
  // If it fails, the next heartbeats show the difference, and the run is given back then.
  await untilAnswered(
    ports,
    () => ports.store.runs.releaseIfHeld(params),
    (failures) => failures >= 3,
  ).catch(() => {});
}

function parkCommit(run: Run, workerId: string, error: unknown): RunCommit {
  const { namespace, runId, epoch, commit, consumed } = run;
  const transition: Transition = { type: "park", error: toErrorRecord(error) };
  const nothing = { events: [], consumed, attributes: null, clearDeadline: false };
  return { namespace, runId, workerId, epoch, commit, ...nothing, transition };
}
