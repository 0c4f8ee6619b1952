/** Who did what, for 90 days. Written beside the call: a store that is slow with it holds nobody up. */
import {
  type AccessStore,
  type Clock,
  isHoldfastError,
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
/** Texts of callers are escaped, so that every store keeps them, and cut. */
const TEXT_MAX = 400;

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
    this.#waiting.push({ eventId: uuidV7(clock.now(), random.bytes(16)), ...shown(event) });
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
    while (this.#waiting.length > 0) {
      const events = this.#waiting;
      this.#waiting = [];
      if (this.#dropped > 0) log.error({ events: this.#dropped }, "audit events were dropped: the store is too slow");
      this.#dropped = 0;
      await this.#writeAll(access, events);
    }
    this.#writing = undefined;
  }

  /** What the store refuses together it is given one by one: a fault of one event costs no other. */
  async #writeAll(access: AccessStore, events: readonly NewAuditEvent[]): Promise<void> {
    try {
      await access.addAudit({ events });
    } catch (error) {
      if (events.length > 1 && isHoldfastError(error, "store_refused")) {
        for (const event of events) await this.#writeAll(access, [event]);
        return;
      }
      const { log } = this.#params;
      log.error({ events: events.length, error: String(error) }, "audit events could not be written");
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
      while ((await access?.forgetKeys({ limit: FORGET_LIMIT }))?.more);
    } catch (error) {
      log.warn({ error: String(error) }, "old audit events and keys could not be deleted");
    }
  }
}

function shown(event: Omit<NewAuditEvent, "eventId">): Omit<NewAuditEvent, "eventId"> {
  const { actor, action, namespace, subject, outcome, address } = event;
  return {
    actor: escaped(actor),
    action,
    namespace: escaped(namespace),
    subject: escaped(subject),
    outcome,
    address: escaped(address),
  };
}

/** Control characters and halves of surrogate pairs as `\\u0000`. */
function escaped(text: string): string {
  const cut = text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX - 1)}…` : text;
  return cut.replace(
    /[\u0000-\u001f\u007f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
