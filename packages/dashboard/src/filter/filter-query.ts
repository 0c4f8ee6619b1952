/** Filters as they come in a query or in a body, for the client. */
import type { ListFilter } from "holdfast";
import { refusal } from "../answers/refusal.ts";
import type { RunFilter, RunStatus } from "../api/list-messages.ts";
import { FilterError, type PlainFilter, parseFilter } from "./filter-text.ts";

const TEXTS = ["workflow", "version", "id", "queue", "waitingFor", "error", "parent", "forkedFrom", "q"] as const;
const TIMES = ["createdAfter", "createdBefore", "endedAfter", "endedBefore", "waitingSince"] as const;
const ATTRIBUTE = "attr.";

export function filterOfQuery(query: URLSearchParams): RunFilter {
  const made: Record<string, unknown> = {};
  for (const name of TEXTS) if (query.get(name)) made[name] = query.get(name);
  for (const name of TIMES) if (query.get(name)) made[name] = Number(query.get(name));
  if (query.get("status")) made["status"] = (query.get("status") as string).split(",") as RunStatus[];
  if (query.get("retrying")) made["retrying"] = ["1", "true"].includes(query.get("retrying") as string);
  const attributes = [...query].filter(([name]) => name.startsWith(ATTRIBUTE) && name.length > ATTRIBUTE.length);
  if (attributes.length > 0)
    made["attributes"] = Object.fromEntries(attributes.map(([name, value]) => [name.slice(5), scalarOf(value)]));
  return made as RunFilter;
}

/** A number is a number and `true` is true; in quotes, they are text. */
function scalarOf(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  if (/^".*"$/.test(text)) return text.slice(1, -1);
  return text !== "" && `${Number(text)}` === text ? Number(text) : text;
}

/** A filter of a list, and what the error of a run must say: no store can filter by that. */
export type SearchFilter = ListFilter & Pick<PlainFilter, "errorText">;

/** The filters of which one must match. */
export function alternativesOf(filter: RunFilter, now: number): readonly SearchFilter[] {
  const { q, ...plain } = filter;
  try {
    return join(plain, q ? parseFilter(q, now) : [{}]).map(listFilter);
  } catch (error) {
    if (error instanceof FilterError)
      throw refusal(400, "bad_filter", error.message, { data: { position: error.position } });
    throw error;
  }
}

/** The text is joined with the chips by AND. What both name must be the same. */
function join(plain: PlainFilter, alternatives: readonly PlainFilter[]): readonly PlainFilter[] {
  return alternatives.flatMap((one) => {
    const clash = Object.keys(one).some(
      (field) =>
        field in plain &&
        field !== "attributes" &&
        field !== "status" &&
        one[field as keyof PlainFilter] !== plain[field as keyof PlainFilter],
    );
    if (clash) return [];
    const attributes = { ...plain.attributes, ...one.attributes };
    const status = commonStatus(plain.status, one.status);
    if (status?.length === 0) return [];
    return [
      {
        ...plain,
        ...one,
        ...(status ? { status } : {}),
        ...(Object.keys(attributes).length > 0 ? { attributes } : {}),
      },
    ];
  });
}

function commonStatus(left: RunFilter["status"], right: RunFilter["status"]): readonly RunStatus[] | undefined {
  const [a, b] = [left, right].map((given) => (typeof given === "string" ? [given] : given));
  return a && b ? a.filter((status) => b.includes(status)) : (a ?? b);
}

function listFilter(plain: PlainFilter): SearchFilter {
  const made: Record<string, unknown> = { ...plain };
  for (const name of TIMES) {
    if (plain[name] === undefined) continue;
    const time = new Date(plain[name]);
    if (Number.isNaN(time.getTime())) throw refusal(400, "bad_filter", `${name} is no time in milliseconds.`);
    made[name] = time;
  }
  return made as SearchFilter;
}
