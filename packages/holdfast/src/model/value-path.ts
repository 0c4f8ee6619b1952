const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

/** One step on the path to a part of a value. `{ text }` is printed as it is: `.get("id")` for an entry of a Map. */
export type PathSegment = PropertyKey | { readonly text: string };

/** The path to a part of a value, as it would be written in code: `items[3].price`, `headers["x-id"]`. */
export function formatPath(segments: readonly PathSegment[]): string {
  let path = "";
  for (const segment of segments) {
    if (typeof segment === "object") path += segment.text;
    else if (typeof segment === "number") path += `[${segment}]`;
    else if (typeof segment === "symbol") path += `[${String(segment)}]`;
    else if (IDENTIFIER.test(segment)) path += path === "" ? segment : `.${segment}`;
    else path += `[${JSON.stringify(segment)}]`;
  }
  return path;
}
