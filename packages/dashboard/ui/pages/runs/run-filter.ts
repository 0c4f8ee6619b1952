// The filter of the list: what the URL says, what the API is asked, and the chips that are shown.
import type { RunFilter, RunStatus } from "../../../src/api/api-messages.ts";
import type { Search } from "../../search-state.ts";

export interface FilterChip {
  /** The names of the URL that it stands for. */
  readonly names: readonly string[];
  /** "status is" */
  readonly label: string;
  readonly value: string;
  /** "status", for "Remove status filter". */
  readonly what: string;
}

/** Names of the URL that are conditions, with the words of their chips. */
export const CONDITIONS = {
  status: "status is",
  workflow: "workflow is",
  version: "version is",
  queue: "queue is",
  id: "id is",
  error: "error is",
  waitingFor: "waits for",
  parent: "parent is",
  forkedFrom: "forked from",
} as const;
export type ConditionName = keyof typeof CONDITIONS;

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90m`, `24h`, `7d` in milliseconds; undefined for anything else. */
export function spanMs(text: string | undefined): number | undefined {
  const match = /^(\d{1,6})([mhd])$/.exec(text ?? "");
  return match === null ? undefined : Number(match[1]) * (UNITS[match[2] ?? ""] ?? 0);
}

/** "24 h", as it was written: "1 d" would hide that it counts back from now. */
function spanText(text: string | undefined): string | undefined {
  return spanMs(text) === undefined ? undefined : text?.replace(/^(\d+)(.)$/, "$1 $2");
}

/** What the API is asked. Spans count back from `now`, which is cut to the minute so that a question stays the same for a while. */
export function filterParams(search: Search, now: number): Readonly<Record<string, string>> {
  const minute = Math.floor(now / 60_000) * 60_000;
  const params: Record<string, string> = {};
  for (const name of Object.keys(CONDITIONS)) {
    const value = search[name];
    if (value !== undefined && value !== "") params[name] = value;
  }
  for (const [name, value] of Object.entries(search)) {
    if (name.startsWith("attr.") && value !== undefined && value !== "") params[name] = value;
  }
  if (search.retrying === "1") params.retrying = "true";
  if (search.q !== undefined && search.q.trim() !== "") params.q = search.q;
  const created = spanMs(search.created);
  if (created !== undefined) params.createdAfter = String(minute - created);
  const waiting = spanMs(search.waiting);
  if (waiting !== undefined) params.waitingSince = String(minute - waiting);
  for (const name of ["createdAfter", "createdBefore"] as const) {
    const at = Number(search[name]);
    if (search[name] !== undefined && Number.isFinite(at)) params[name] = String(at);
  }
  return params;
}

/** The same for the body of a batch. */
export function batchFilter(search: Search, now: number): RunFilter {
  const { retrying, status, createdAfter, createdBefore, waitingSince, ...texts } = filterParams(search, now);
  const plain: Record<string, string> = {};
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(texts)) {
    if (name.startsWith("attr.")) attributes[name.slice(5)] = value;
    else plain[name] = value;
  }
  return {
    ...plain,
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(status === undefined ? {} : { status: status.split(",") as RunStatus[] }),
    ...(retrying === undefined ? {} : { retrying: true }),
    ...(createdAfter === undefined ? {} : { createdAfter: Number(createdAfter) }),
    ...(createdBefore === undefined ? {} : { createdBefore: Number(createdBefore) }),
    ...(waitingSince === undefined ? {} : { waitingSince: Number(waitingSince) }),
  };
}

/** One chip per condition; `text` writes a time. */
export function chipsOf(search: Search, timeOf: (at: number) => string): FilterChip[] {
  const chips: FilterChip[] = [];
  for (const [name, label] of Object.entries(CONDITIONS)) {
    const value = search[name];
    if (value === undefined || value === "") continue;
    const words = name === "status" ? value.split(",").join(", ").replaceAll("timed_out", "timed out") : value;
    chips.push({ names: [name], label, value: words, what: label.replace(/ is$/, "") });
  }
  for (const [name, value] of Object.entries(search)) {
    if (!name.startsWith("attr.") || value === undefined || value === "") continue;
    chips.push({ names: [name], label: `${name.slice(5)} is`, value, what: name.slice(5) });
  }
  if (search.retrying === "1") chips.push({ names: ["retrying"], label: "is", value: "retrying", what: "retrying" });
  const created = spanText(search.created);
  if (created !== undefined) {
    chips.push({ names: ["created"], label: "created", value: `last ${created}`, what: "created" });
  }
  const waiting = spanText(search.waiting);
  if (waiting !== undefined) {
    chips.push({ names: ["waiting"], label: "waits longer than", value: waiting, what: "waiting" });
  }
  const { createdAfter: after, createdBefore: before } = search;
  if (after !== undefined || before !== undefined) {
    const value = `${after === undefined ? "…" : timeOf(Number(after))} – ${before === undefined ? "now" : timeOf(Number(before))}`;
    chips.push({ names: ["createdAfter", "createdBefore"], label: "created", value, what: "time" });
  }
  return chips;
}

export interface View {
  readonly name: string;
  readonly search: Search;
  readonly saved?: boolean;
}

/** The views that everybody has. */
export const VIEWS: readonly View[] = [
  { name: "All", search: {} },
  { name: "Open", search: { status: "pending,running,sleeping,waiting,compensating,parked" } },
  { name: "Failed today", search: { status: "failed", created: "24h" } },
  { name: "Retrying", search: { retrying: "1" } },
  { name: "Waiting > 1 h", search: { status: "waiting", waiting: "1h" } },
  { name: "Parked", search: { status: "parked" } },
];

/** Whether the URL shows this view: the same conditions, in any order. */
export function isView(view: Search, search: Search): boolean {
  const plain = (each: Search) =>
    Object.entries(each)
      .filter(([name, value]) => value !== undefined && value !== "" && !NOT_CONDITIONS.includes(name))
      .map(([name, value]) => `${name}=${value}`)
      .sort()
      .join("&");
  return plain(view) === plain(search);
}

/** Parts of the URL that are no part of a view. */
export const NOT_CONDITIONS: readonly string[] = ["start", "text"];
