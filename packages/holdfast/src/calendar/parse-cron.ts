/** Why a text is not a cron expression, and where: a position in the text, counted from 0. */
export class CronFault extends Error {
  readonly position: number;

  constructor(position: number, message: string) {
    super(message);
    this.position = position;
  }
}

export function parseCron(_text: string): void {}
