// Reading under api/: cached by address, kept while the next answer is on its way, asked again when a hint says so.
import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useCallback } from "react";
import { decodedPart } from "../../src/api/path-part.ts";
import { type Params, readApi, within, writeApi } from "./api-client.ts";
import type { ApiError } from "./api-error.ts";
import { useLive, useLiveState } from "./live.ts";

/** The namespace of the page. */
export function useNamespace(): string {
  const { ns } = useParams({ strict: false }) as { readonly ns?: string };
  return decodedPart(ns ?? "default");
}

/** The run, schedule or workflow of the page: the `$id` of its route. */
export function useItem(): string {
  const { id } = useParams({ strict: false }) as { readonly id?: string };
  return decodedPart(id ?? "");
}

export interface ReadOptions {
  /** Hints that make it read again. */
  readonly live?: readonly string[];
  /** False: do not ask (yet). */
  readonly enabled?: boolean;
  /** Also ask this often, in milliseconds, for figures that no hint announces. */
  readonly everyMs?: number;
  /** The page sees to the hints itself; without a stream it asks all the same. */
  readonly followed?: boolean;
}

/** How often what hints tell of is asked for while the stream is lost. */
export const LOST_POLL_MS = 4000;

export type Read<T> = UseQueryResult<T, ApiError>;

/**
 * Reads `api/{ns}/{path}` in the namespace of the page; make the path with `within("runs", id)`. Old data stays while new data is on its way.
 * Never with structural sharing: comparing long lists costs more than showing them.
 */
export function useRead<T>(path: string, params: Params = {}, options: ReadOptions = {}): Read<T> {
  const namespace = useNamespace();
  const client = useQueryClient();
  const key = [namespace, path, params] as const;
  const lost = useLiveState() === "lost" && (options.live !== undefined || options.followed === true);
  const everyMs = lost ? Math.min(LOST_POLL_MS, options.everyMs ?? LOST_POLL_MS) : options.everyMs;
  const read = useQuery<T, ApiError>({
    queryKey: key,
    queryFn: ({ signal }) => readApi<T>(`${within(namespace)}/${path}`, params, signal),
    structuralSharing: false,
    // Of the same list with another filter; never of another run.
    placeholderData: (old, query) => (query?.queryKey[0] === namespace && query.queryKey[1] === path ? old : undefined),
    enabled: options.enabled ?? true,
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
  });
  const text = JSON.stringify(key);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text of the key stands for the key
  const again = useCallback(() => void client.invalidateQueries({ queryKey: key }), [client, text]);
  useLive(options.live ?? [], again);
  return read;
}

/** Makes everything of this namespace, or what starts with `path`, read again: after an action. */
export function useReadAgain(): (path?: string) => Promise<void> {
  const client = useQueryClient();
  const namespace = useNamespace();
  return useCallback(
    (path) => client.invalidateQueries({ queryKey: path === undefined ? [namespace] : [namespace, path] }),
    [client, namespace],
  );
}

/** Does something: POST to `api/{ns}/{path}`, and everything that is shown reads again. */
export function useAct(): <T = unknown>(path: string, body?: object) => Promise<T> {
  const namespace = useNamespace();
  const again = useReadAgain();
  return async <T>(path: string, body: object = {}) => {
    const answer = await writeApi<T>(`${within(namespace)}/${path}`, body);
    void again();
    return answer;
  };
}
