import type { Attributes, EventDraft, HistoryEvent } from "../model/event.ts";
import { appended, NONE } from "../model/short-list.ts";

/** What one run has not stored yet: events in their places, and the attributes that they set. */
export class Unwritten {
  #events: readonly HistoryEvent[] = NONE;
  #attributes: Attributes | null = null;
  #nextSeq: number;
  #lastAt: number;
  /** What was to be written when this turn began, including its event. */
  #eventsBefore = 0;
  #attributesBefore: Attributes | null = null;

  /** `lastAt`: no event may have an earlier time. */
  constructor(nextSeq: number, lastAt: number) {
    this.#nextSeq = nextSeq;
    this.#lastAt = lastAt;
  }

  get events(): readonly HistoryEvent[] {
    return this.#events;
  }

  get attributes(): Attributes | null {
    return this.#attributes;
  }

  get nextSeq(): number {
    return this.#nextSeq;
  }

  append(draft: EventDraft, at: number): HistoryEvent {
    this.#lastAt = Math.max(this.#lastAt, at);
    const event = placed(draft, this.#nextSeq++, this.#lastAt);
    this.#events = appended(this.#events, event);
    return event;
  }

  setAttributes(attributes: Attributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
  }

  beginTurn(): void {
    this.#eventsBefore = this.#events.length;
    this.#attributesBefore = this.#attributes;
  }

  /** Fixed code must take this turn again: its event stays, what the code did in it does not. */
  cutTurn(): void {
    this.#events = this.#events.slice(0, this.#eventsBefore);
    this.#attributes = this.#attributesBefore;
  }

  takeEvents(): readonly HistoryEvent[] {
    const events = this.#events;
    this.#events = NONE;
    return events;
  }

  takeAttributes(): Attributes | null {
    const attributes = this.#attributes;
    this.#attributes = null;
    return attributes;
  }

  /** A copy: the list itself may be in flight to the store. */
  putBack(events: readonly HistoryEvent[], attributes: Attributes | null): void {
    this.#events = [...events];
    this.#attributes = attributes;
  }
}

/** The event in its place. Written out: this happens once per event, and a spread would cost several times as much. */
function placed({ type, op, payload, meta }: EventDraft, seq: number, at: number): HistoryEvent {
  if (meta === undefined) return payload === undefined ? { seq, at, type, op } : { seq, at, type, op, payload };
  return payload === undefined ? { seq, at, type, op, meta } : { seq, at, type, op, payload, meta };
}
