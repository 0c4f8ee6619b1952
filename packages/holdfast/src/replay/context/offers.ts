import { HoldfastError } from "../../errors/holdfast-error.ts";
import { nearestName } from "../../model/nearest-name.ts";

/**
 * What the runs of a workflow can be sent, as types: one of the definitions that it lists, or anything (`unknown`) where it has
 * no list.
 */
export interface Offers<Signals = unknown, Updates = unknown, Queries = unknown> {
  readonly signals: Signals;
  readonly updates: Updates;
  readonly queries: Queries;
}

/** The names that a workflow lists, by kind. A kind without a list: anything. */
export interface OfferedNames {
  readonly signal?: readonly string[];
  readonly update?: readonly string[];
  readonly query?: readonly string[];
}

/** A workflow, as far as what its runs can be sent is concerned. */
export interface Offering {
  readonly name: string;
  readonly offers?: OfferedNames | undefined;
}

interface Offered {
  readonly kind: keyof OfferedNames;
  readonly name: string;
}

const PLURALS = { signal: "signals", update: "updates", query: "queries" } as const;
/** What to do about one that is not in the list, where something is sent and in the code of the workflow. */
const SENT = "Nothing was sent.";
const USED = "Add it to that list.";

/** Refuses what the workflow does not list. */
export function requireOffered(to: Offering | undefined, asked: Offered, call: string): void {
  if (to?.offers !== undefined) check(to, to.offers, asked, call, SENT);
}

/** The same for the code of the workflow itself: what it does not list is never sent to it. */
export function requireListed(own: Offering | undefined, asked: Offered, call: string): void {
  if (own?.offers !== undefined) check(own, own.offers, asked, call, USED);
}

function check(to: Offering, offers: OfferedNames, { kind, name }: Offered, call: string, advice: string): void {
  const offered = offers[kind];
  if (offered === undefined || offered.includes(name)) return;
  const nearest = nearestName(name, offered);
  const shown = offered.map((one) => JSON.stringify(one)).join(", ");
  const list =
    offered.length === 0 ? `It offers no ${PLURALS[kind]}.` : `The ${PLURALS[kind]} that it lists are ${shown}.`;
  const hint = nearest === undefined ? "" : ` Did you mean ${JSON.stringify(nearest)}?`;
  const message = `${call}: workflow "${to.name}" does not offer ${kind} ${JSON.stringify(name)}. ${list}${hint} ${advice}`;
  throw new HoldfastError("invalid_argument", message, { data: { workflow: to.name, kind, name, offered } });
}

/** Handles of children whose workflows have lists. */
const handles = new WeakMap<object, Offering>();

export function noteOffering(handle: object, to: Offering): void {
  if (to.offers !== undefined) handles.set(handle, to);
}

export function offeringOf(target: unknown): Offering | undefined {
  return typeof target === "object" && target !== null ? handles.get(target) : undefined;
}
