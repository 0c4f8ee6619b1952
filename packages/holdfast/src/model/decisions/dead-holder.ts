/** What a run keeps of the deaths of its holders. */
export interface DeathMarks {
  readonly deaths: number;
  readonly aloneDeaths: number;
  readonly alone: boolean;
  readonly suspect: boolean;
}

/** Whether a sweep declares a worker dead: its lease is over, or its process is known to be gone. */
export function isDead(
  worker: { readonly workerId: string; readonly leaseExpiresAt: number },
  gone: readonly string[] | undefined,
  now: number,
): boolean {
  return gone ? gone.includes(worker.workerId) : worker.leaseExpiresAt <= now;
}

/**
 * What a sweep makes of a run whose worker is offline: it comes back, unless it has proved to be what kills workers. A worker that
 * signed off is no death.
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
