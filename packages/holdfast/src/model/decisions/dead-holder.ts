/** What a run records about the deaths of its holders. */
export interface DeathMarks {
  readonly deaths: number;
  readonly aloneDeaths: number;
  readonly alone: boolean;
  readonly suspect: boolean;
}

/** Whether a sweep declares a worker dead: its lease has expired, or its process is known to be gone. */
export function isDead(
  worker: { readonly workerId: string; readonly leaseExpiresAt: number },
  gone: readonly string[] | undefined,
  now: number,
): boolean {
  return gone ? gone.includes(worker.workerId) : worker.leaseExpiresAt <= now;
}

/** What a run records when the guest has died that executed it for its worker. */
export function afterGuest(
  run: Pick<DeathMarks, "deaths" | "aloneDeaths">,
  { alone }: { readonly alone: boolean },
): Pick<DeathMarks, "deaths" | "aloneDeaths"> {
  return { deaths: run.deaths + 1, aloneDeaths: run.aloneDeaths + Number(alone) };
}

/**
 * What a sweep does with a run whose worker is offline: it is reclaimed, and parked if it has proved to kill workers. A
 * worker that stopped is not a death.
 */
export function afterHolder(
  run: DeathMarks,
  died: boolean,
  limits: { readonly suspectAfter: number; readonly parkAfter: number },
): Omit<DeathMarks, "alone"> & { readonly parked: boolean } {
  const deaths = run.deaths + Number(died);
  const aloneDeaths = run.aloneDeaths + Number(died && run.alone);
  const suspect = died ? deaths >= limits.suspectAfter : run.suspect;
  return { deaths, aloneDeaths, suspect, parked: aloneDeaths >= limits.parkAfter };
}
