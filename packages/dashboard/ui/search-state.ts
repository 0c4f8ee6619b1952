// All view state is in the URL, as plain text: `?tab=events&failed=1`. A page reads it and changes parts of it.
import { useLocation, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

export type Search = Readonly<Record<string, string | undefined>>;

/** How the router reads and writes the part after the question mark: names and texts, no JSON. */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

export function searchText(search: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

export interface SearchChange {
  /** True: the back button skips the state before. For what changes while one types or drags. */
  readonly replace?: boolean;
}

/** What the URL says, and a function that changes the given names and keeps the others; `undefined` removes a name. */
export function useSearchState(): readonly [Search, (change: Search, how?: SearchChange) => void] {
  const search = useLocation().search as Search;
  const navigate = useNavigate();
  const change = useCallback(
    (patch: Search, how: SearchChange = {}) => {
      void navigate({
        to: ".",
        search: ((old: Search) => ({ ...old, ...patch })) as never,
        replace: how.replace ?? false,
        resetScroll: false,
      });
    },
    [navigate],
  );
  return [search, change];
}
