/** The clients of the namespaces that are looked at: one that looks, one that acts, and the topics that are watched. */
import type { Client } from "holdfast";
import type { ClientStore } from "holdfast/adapter";
import { mayOpen, type Visitor } from "./gate/visitor.ts";
import { Topics } from "./live/topics.ts";
import { viewingCodec } from "./reads/stored-value.ts";

const LISTED_MAX = 1_000;

interface Entry {
  readonly view: Client;
  readonly act: Client;
  topics?: Topics;
}

export class NamespaceClients {
  readonly #hf: Client;
  readonly #store: ClientStore;
  readonly #entries = new Map<string, Entry>();

  constructor(hf: Client, store: ClientStore) {
    this.#hf = hf;
    this.#store = store;
  }

  of(namespace: string): Entry {
    const known = this.#entries.get(namespace);
    if (known) return known;
    const view = this.#store.client(namespace, viewingCodec(this.#store.codec));
    const act = namespace === this.#hf.namespace ? this.#hf : this.#store.client(namespace);
    const entry: Entry = { view, act };
    this.#entries.set(namespace, entry);
    return entry;
  }

  topics(namespace: string): Topics {
    const entry = this.of(namespace);
    entry.topics ??= new Topics(this.#store, entry.view);
    return entry.topics;
  }

  /** Those that the visitor may open, as far as they are known: by name. */
  async names(visitor: Visitor): Promise<readonly string[]> {
    const listed = (await this.#store.access?.listNamespaces({ after: null, limit: LISTED_MAX })) ?? [];
    const known = [this.#hf.namespace, ...listed.map(({ name }) => name)];
    const named = visitor.namespaces.filter((one) => one !== "*");
    return [...new Set([...known.filter((name) => mayOpen(visitor, name)), ...named])].sort();
  }

  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    for (const { topics } of entries) topics?.close();
    await Promise.all(entries.map(({ act }) => (act === this.#hf ? undefined : act.close())));
  }
}
