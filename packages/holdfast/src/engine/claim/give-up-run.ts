import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { backoff, untilAnswered } from "../../calls/store-retry.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import type { Run } from "../../model/run.ts";
import type { RunCommit, Transition } from "../../ports/store.ts";
import { GuestMachine } from "../../replay/guests/guest-machine.ts";
import type { RunExecutor } from "../execute/run-executor.ts";

/**
 * Handles a claimed run whose history cannot be read. A damaged one is parked, so that it is not claimed over and over;
 * otherwise the run is released after a pause.
 */
export async function giveUpRun(ports: PortsBundle, workerId: string, run: Run, error: unknown): Promise<void> {
  const { namespace, runId, epoch } = run;
  const damaged = isHoldfastError(error, "invariant_broken");
  const what = damaged ? "parking it" : "releasing it";
  ports.log.error({ runId, error: String(error) }, `could not read the history of a claimed run; ${what}`);
  const release = (): Promise<unknown> =>
    ports.store.runs.releaseIfHeld({ namespace, workerId, runs: [{ runId, epoch }] });
  if (!damaged) await backoff(ports, 5);
  // If this fails too, the next heartbeats show that the store thinks we hold it, and it is released then.
  await (damaged ? ports.store.runs.commit({ commits: [parkCommit(run, workerId, error)] }) : release()).catch(
    () => {},
  );
}

/** Releases a run that the store says we hold but that we cannot run. */
export async function releaseRun(
  ports: PortsBundle,
  workerId: string,
  run: Run,
  died?: { readonly alone: boolean },
): Promise<void> {
  const { namespace, runId, epoch } = run;
  const params = { namespace, workerId, runs: [{ runId, epoch }], ...(died ? { died } : {}) };
  // If this fails, the next heartbeats show the difference, and the run is released then.
  await untilAnswered(
    ports,
    () => ports.store.runs.releaseIfHeld(params),
    (failures) => failures >= 3,
  ).catch(() => {});
}

/** Gives a run back whose guest has gone, or parks it if so many have died of it in a row. */
export async function giveBackGuestRun(
  ports: PortsBundle,
  workerId: string,
  executor: RunExecutor,
  parkAfter: number,
  died: { readonly alone: boolean } | undefined,
): Promise<void> {
  const { machine, run } = executor;
  if (died?.alone && run.aloneDeaths + 1 >= parkAfter && machine instanceof GuestMachine)
    return machine.abandon(parkAfter);
  await releaseRun(ports, workerId, run, died);
  executor.drop();
}

function parkCommit(run: Run, workerId: string, error: unknown): RunCommit {
  const { namespace, runId, epoch, commit, consumed, eventCount } = run;
  const transition: Transition = { type: "park", error: toErrorRecord(error) };
  const nothing = { events: [], eventCount, consumed, attributes: null, clearDeadline: false };
  return { namespace, runId, workerId, epoch, commit, ...nothing, transition };
}
