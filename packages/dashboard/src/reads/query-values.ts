import { refusal } from "../answers/refusal.ts";

/** A whole number of the query, from 1 to `most`; above it, `most`. */
export function wholeNumber(query: URLSearchParams, name: string, otherwise: number, most: number): number {
  const text = query.get(name);
  if (text === null || text === "") return otherwise;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw refusal(400, "bad_request", `${name} is not a whole number.`);
  return Math.min(value, most);
}

export function listOf(query: URLSearchParams, name: string): readonly string[] | undefined {
  const text = query.get(name);
  return text === null || text === "" ? undefined : text.split(",").map((one) => decoded(one, name));
}

/** Names in lists are percent-encoded once more, because they may contain commas. */
function decoded(text: string, name: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refusal(400, "bad_request", `${name} is not percent-encoded.`);
  }
}
