/** Who did what, for 90 days. Written beside the call: a store that is slow with it holds nobody up. */
import {
  type AccessStore,
  type Clock,
  type Logger,
  type NewAuditEvent,
  type Random,
  type Timer,
  uuidV7,
} from "holdfast/adapter";

const FORGET_EVERY_MS = 60 * 60 * 1000;
const FORGET_LIMIT = 1_000;
/** Events that wait for the store; more are dropped, and counted. */
const WAITING_MAX = 1_000;

export interface AuditLogParams {
  readonly access: AccessStore | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export class AuditLog {
  readonly #params: AuditLogParams;
  #waiting: NewAuditEvent[] = [];
  #writing: Promise<void> | undefined;
  #timer: Timer | undefined;
  #dropped = 0;

  constructor(params: AuditLogParams) {
    this.#params = params;
    if (params.access) this.#schedule();
  }

  add(event: Omit<NewAuditEvent, "eventId">): void {
    const { access, clock, random } = this.#params;
    if (!access) return;
    if (this.#waiting.length >= WAITING_MAX) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push({ eventId: uuidV7(clock.now(), random.bytes(16)), ...event });
    this.#writing ??= this.#write(access);
  }

  /** Resolves when everything that was added before is written, or has failed. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    await this.flush();
  }

  async #write(access: AccessStore): Promise<void> {
    const { log } = this.#params;
    try {
      while (this.#waiting.length > 0) {
        const events = this.#waiting;
        this.#waiting = [];
        if (this.#dropped > 0) log.error({ events: this.#dropped }, "audit events were dropped: the store is too slow");
        this.#dropped = 0;
        await access.addAudit({ events });
      }
    } catch (error) {
      log.error({ error: String(error) }, "audit events could not be written");
    } finally {
      this.#writing = undefined;
    }
  }

  #schedule(): void {
    this.#timer = this.#params.clock.setTimer(FORGET_EVERY_MS, () => {
      void this.#forget();
      this.#schedule();
    });
  }

  async #forget(): Promise<void> {
    const { access, log } = this.#params;
    try {
      while ((await access?.forgetAudit({ limit: FORGET_LIMIT }))?.more);
    } catch (error) {
      log.warn({ error: String(error) }, "old audit events could not be deleted");
    }
  }
}
