// One server-sent stream per visible tab. Its messages are hints: they say what to read again, never what it is now. The stream
// is closed while the tab is hidden, because a browser allows six connections to a server over HTTP/1.1.
import { useEffect, useEffectEvent, useSyncExternalStore } from "react";
import { apiPath, within } from "./api-client.ts";

/** What a message says: something about this topic changed. */
export interface Hint {
  /** A topic, or "resync": hints may have been lost. */
  readonly topic: string;
  readonly runId?: string;
  readonly id?: string;
  readonly seq?: number;
  readonly status?: string;
}

/** Who looks is no longer who they were. */
export const SESSION_TOPIC = "session";

/** "idle": nothing that the page shows is followed. */
export type LiveState = "live" | "connecting" | "lost" | "hidden" | "idle";

interface Listener {
  readonly topics: readonly string[];
  readonly onHint: (hint: Hint) => void;
}

/** Hints about the same topic within this time are told once. */
const GATHER_MS = 150;
const REOPEN_MS = 50;

class LiveStream {
  readonly #listeners = new Set<Listener>();
  readonly #watchers = new Set<() => void>();
  readonly #waiting = new Map<string, Hint>();
  #namespace = "";
  #source: EventSource | undefined;
  #url = "";
  #state: LiveState = "idle";
  #reopen: ReturnType<typeof setTimeout> | undefined;
  #gather: ReturnType<typeof setTimeout> | undefined;
  #visited = false;
  /** Topics for which the store does not answer, though the stream is open. */
  readonly #away = new Set<string>();

  get state(): LiveState {
    return this.#state;
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  setNamespace(namespace: string): void {
    if (!this.#visited) {
      document.addEventListener("visibilitychange", () => this.#apply());
      this.#visited = true;
    }
    this.#namespace = namespace;
    this.#applySoon();
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.#applySoon();
    return () => {
      this.#listeners.delete(listener);
      this.#applySoon();
    };
  }

  /** Pages change their topics one after the other; the stream follows once. */
  #applySoon(): void {
    this.#reopen ??= setTimeout(() => {
      this.#reopen = undefined;
      this.#apply();
    }, REOPEN_MS);
  }

  #apply(): void {
    const topics = [...new Set([...this.#listeners].flatMap((listener) => listener.topics))].sort();
    const hidden = document.visibilityState === "hidden";
    const url =
      hidden || topics.length === 0 || this.#namespace === ""
        ? ""
        : apiPath(within(this.#namespace, "live"), { topics: topics.join(",") });
    if (url === this.#url) return;
    this.#source?.close();
    this.#source = undefined;
    this.#url = url;
    this.#become(hidden ? "hidden" : url === "" ? "idle" : "connecting");
    if (url === "") return;
    this.#open(url);
  }

  #open(url: string): void {
    const source = new EventSource(url);
    this.#source = source;
    this.#away.clear();
    source.onopen = () => this.#become("live");
    // From now on nothing is missed. What changed between the reads before and this moment was: read again.
    source.addEventListener("hello", () => this.#tell({ topic: "resync" }));
    source.addEventListener("hint", (message: MessageEvent<string>) => this.#take(message.data));
    source.addEventListener("away", (message: MessageEvent<string>) => this.#leave(message.data));
    source.addEventListener("resync", (message: MessageEvent<string>) => this.#return(message.data));
    source.onerror = () => {
      this.#become("lost");
      if (source.readyState !== EventSource.CLOSED || this.#source !== source) return;
      // The server refused, perhaps because of who asks; the browser does not try again by itself.
      this.#tell({ topic: SESSION_TOPIC });
      this.#url = "";
      setTimeout(() => this.#apply(), 4000);
    };
  }

  #leave(data: string): void {
    for (const topic of topicsOf(data)) this.#away.add(topic);
    this.#become("lost");
    // What is shown reads again, so that it says how old it is.
    this.#tell({ topic: "resync" });
  }

  #return(data: string): void {
    for (const topic of topicsOf(data)) this.#away.delete(topic);
    if (this.#away.size === 0) this.#become("live");
    this.#tell({ topic: "resync" });
  }

  #take(data: string): void {
    try {
      const hint = JSON.parse(data) as Hint;
      if (typeof hint.topic === "string") this.#tell(hint);
    } catch {
      // A message of a later version.
    }
  }

  #tell(hint: Hint): void {
    this.#waiting.set(`${hint.topic} ${hint.runId ?? ""}`, hint);
    this.#gather ??= setTimeout(() => {
      this.#gather = undefined;
      const hints = [...this.#waiting.values()];
      this.#waiting.clear();
      for (const each of hints) for (const listener of this.#listeners) tellListener(listener, each);
    }, GATHER_MS);
  }

  #become(state: LiveState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const watcher of this.#watchers) watcher();
  }
}

function topicsOf(data: string): readonly string[] {
  try {
    const { topics } = JSON.parse(data) as { readonly topics?: unknown };
    return Array.isArray(topics) ? topics.filter((topic) => typeof topic === "string") : [];
  } catch {
    return []; // a message of a later version
  }
}

function tellListener(listener: Listener, hint: Hint): void {
  if (listener.topics.length === 0) return;
  if (hint.topic === "resync" || listener.topics.includes(hint.topic)) listener.onHint(hint);
}

const stream = new LiveStream();

/** Calls `onHint` when something about one of the topics changed. */
export function useLive(topics: readonly string[], onHint: (hint: Hint) => void): void {
  const told = useEffectEvent(onHint);
  const text = topics.join(",");
  useEffect(
    () => (text === "" ? undefined : stream.add({ topics: text.split(","), onHint: (hint) => told(hint) })),
    [text],
  );
}

/** The topic of one run. */
export function runTopic(runId: string): string {
  return `run:${encodeURIComponent(runId)}`;
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (watcher) => stream.watch(watcher),
    () => stream.state,
  );
}

/** The shell tells which namespace is shown. */
export function useLiveNamespace(namespace: string): void {
  useEffect(() => stream.setNamespace(namespace), [namespace]);
}
