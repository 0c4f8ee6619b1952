/** Pages of lists, and small values of requests, checked. */
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { type PageInfo, PageInfoSchema, type PageRequest } from "@holdfast/protocol";
import { type Attributes, type AttributeValue, HoldfastError } from "holdfast/adapter";

const SIZE_DEFAULT = 100;
const SIZE_MAX = 1_000;

export interface PageOptions {
  readonly limit: number;
  readonly cursor?: string;
}

export function pageOptions(page: PageRequest | undefined): PageOptions {
  const size = page?.pageSize ?? 0;
  if (size < 0 || size > SIZE_MAX) throw refused("page_size", `is ${size}; it must be between 1 and ${SIZE_MAX}`);
  const cursor = page?.pageToken ? { cursor: page.pageToken } : {};
  return { limit: size === 0 ? SIZE_DEFAULT : size, ...cursor };
}

export function pageInfo(cursor: string | null, total?: number): PageInfo {
  return create(PageInfoSchema, {
    nextPageToken: cursor ?? "",
    hasMore: cursor !== null,
    totalCount: total === undefined ? 0n : BigInt(total),
  });
}

/** A page of a list that is at hand as a whole; its token is the number of the first element. */
export function pageOf<T>(all: readonly T[], page: PageRequest | undefined): { items: readonly T[]; info: PageInfo } {
  const { limit, cursor } = pageOptions(page);
  const from = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isSafeInteger(from) || from < 0) throw refused("page_token", "was not returned by an earlier page");
  const items = all.slice(from, from + limit);
  const next = from + limit < all.length ? String(from + limit) : null;
  return { items, info: pageInfo(next, page?.includeTotalCount ? all.length : undefined) };
}

/** Search attributes are JSON values on the wire. */
export function attributesOf(given: Readonly<Record<string, string>>): Attributes {
  return Object.fromEntries(Object.entries(given).map(([key, text]) => [key, attributeOf(key, text)]));
}

function attributeOf(key: string, text: string): AttributeValue {
  try {
    return JSON.parse(text) as AttributeValue;
  } catch {
    throw refused("attributes", `has "${key}", whose value is not JSON. A string needs its quotes: "\\"blue\\""`);
  }
}

export function dateOf(at: Timestamp | undefined, field: string): Date | undefined {
  if (at === undefined) return undefined;
  const date = timestampDate(at);
  if (Number.isNaN(date.getTime())) throw refused(field, "is not a time");
  return date;
}

/** A number of milliseconds that fits a timer. */
export function millisecondsOf(value: bigint, field: string, max: number): number {
  if (value < 0n || value > BigInt(max)) throw refused(field, `is ${value}; it must be between 0 and ${max}`);
  return Number(value);
}

export function required(value: string, field: string): string {
  if (value !== "") return value;
  throw refused(field, "is empty");
}

export function refused(field: string, fault: string): HoldfastError {
  return new HoldfastError("invalid_argument", `${field} ${fault}.`, { data: { argument: field } });
}
