/** The first time of a cron strictly after `after`; infinity if there is none. */
export function nextOfCron(_cron: string, _timezone: string, _after: number): number {
  throw new Error("cron expressions are not read yet");
}
