// The rows of the list: pages by cursor, at most 2,000 rows; rows that are shown change in place, new ones wait until asked for.
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import type { NewerRuns, RunRow, RunRows, RunsPage } from "../../../src/api/api-messages.ts";
import { readApi, within } from "../../api/api-client.ts";
import type { ApiError } from "../../api/api-error.ts";
import { useLive } from "../../api/live.ts";
import { useNamespace } from "../../api/reads.ts";

const PAGE_ROWS = 100;
export const ROWS_MAX = 2000;
/** Rows that are asked about again in one request. */
const ASKED_MAX = 200;
/** Hints come in flocks; the list asks at most this often. */
const ASK_MS = 1000;
/** No hint tells of a row far down: the list asks by itself as well. */
const ASK_ANYWAY_MS = 10_000;

export interface RunList {
  readonly rows: readonly RunRow[];
  readonly newer: NewerRuns | undefined;
  readonly showNewer: () => void;
  readonly loadMore: () => void;
  readonly more: boolean;
  readonly full: boolean;
  readonly loading: boolean;
  readonly error: ApiError | null;
  readonly updatedAt: number;
  readonly again: () => void;
  /** Asks what has changed. */
  readonly refresh: () => void;
  /** Which rows are in sight: they are asked about first. */
  readonly look: (first: number, last: number) => void;
}

export function useRunList(params: Readonly<Record<string, string>>): RunList {
  const namespace = useNamespace();
  const client = useQueryClient();
  const text = JSON.stringify(params);
  const queryKey = useMemo(() => [namespace, "run-list", text], [namespace, text]);
  const query = useInfiniteQuery<
    RunsPage,
    ApiError,
    { readonly pages: readonly RunsPage[] },
    readonly string[],
    string
  >({
    queryKey,
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      readApi<RunsPage>(within(namespace, "runs"), { ...params, limit: PAGE_ROWS, cursor: pageParam }, signal),
    getNextPageParam: (page) => page.cursor ?? undefined,
    structuralSharing: false,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  const loaded = useMemo(() => query.data?.pages.flatMap((page) => page.runs) ?? [], [query.data]);
  const { changed, newer, forget, refresh, look, askedAt } = useChanges(loaded, params, text);
  const rows = useMemo(() => loaded.map((row) => changed.get(row.runId) ?? row), [loaded, changed]);
  const again = () => {
    forget();
    void client.resetQueries({ queryKey });
  };
  return {
    rows,
    newer,
    showNewer: again,
    loadMore: () => void query.fetchNextPage(),
    more: query.hasNextPage && !query.isFetchingNextPage && loaded.length < ROWS_MAX,
    full: loaded.length >= ROWS_MAX && query.hasNextPage,
    loading: query.isPending,
    error: query.error,
    updatedAt: Math.max(query.dataUpdatedAt, askedAt),
    again,
    refresh,
    look,
  };
}

/** Rows that changed since they were loaded, and how many runs the list lacks. */
function useChanges(loaded: readonly RunRow[], params: Readonly<Record<string, string>>, text: string) {
  const namespace = useNamespace();
  const [changed, setChanged] = useState<ReadonlyMap<string, RunRow>>(new Map());
  const [newer, setNewer] = useState<NewerRuns>();
  const [askedAt, setAskedAt] = useState(0);
  const sight = useRef({ first: 0, last: 0 });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const forget = () => {
    setChanged(new Map());
    setNewer(undefined);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter is another list
  useEffect(() => forget(), [text, namespace]);
  const ask = useEffectEvent(async (most: number) => {
    const { first, last } = sight.current;
    const nearest = [...loaded.slice(first, last + 1), ...loaded.slice(0, first), ...loaded.slice(last + 1)];
    const open = nearest.filter((row) => (changed.get(row.runId) ?? row).endedAt === null).slice(0, most);
    const newest = loaded[0];
    const known = newest === undefined ? {} : { than: newest.runId, at: newest.createdAt };
    const [rows, count] = await Promise.all([
      open.length === 0
        ? undefined
        : readApi<RunRows>(within(namespace, "runs", "rows"), { runIds: open.map(({ runId }) => runId).join(",") }),
      readApi<NewerRuns>(within(namespace, "runs", "newer"), { ...params, ...known }),
    ]);
    setAskedAt(Date.now());
    setNewer(count.count === 0 ? undefined : count);
    if (rows !== undefined)
      setChanged((old) => new Map([...old, ...rows.runs.map((row) => [row.runId, row] as const)]));
  });
  // A failed question is asked again; the page says how old its rows are.
  const refresh = useEffectEvent((most: number) => void ask(most).catch(() => {}));
  useLive(["runs"], () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      refresh(ASKED_MAX);
    }, ASK_MS);
  });
  useEffect(() => {
    const anyway = setInterval(() => {
      const { first, last } = sight.current;
      if (document.visibilityState === "visible") refresh(last - first + 1);
    }, ASK_ANYWAY_MS);
    return () => {
      clearInterval(anyway);
      clearTimeout(timer.current);
    };
  }, []);
  const look = (first: number, last: number) => {
    sight.current = { first, last };
  };
  return { changed, newer, forget, refresh: () => void ask(ASKED_MAX).catch(() => {}), look, askedAt };
}
