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
  readonly #seen = new Set<string>();

  constructor(hf: Client, store: ClientStore) {
    this.#hf = hf;
    this.#store = store;
  }

  /**
   * Whether there is such a namespace. It comes to be when it is created, or when something is started in it; an empty page for a name
   * that was mistyped would say that all is well.
   */
  async isKnown(namespace: string, { namespaces }: Visitor): Promise<boolean> {
    if (namespace === this.#hf.namespace || namespaces.includes(namespace) || this.#seen.has(namespace)) return true;
    const { view } = this.of(namespace);
    const found = (await this.#store.access?.readNamespace({ name: namespace })) || (await isUsed(view));
    if (!found) await this.#forget(namespace);
    else this.#seen.add(namespace);
    return Boolean(found);
  }

  async #forget(namespace: string): Promise<void> {
    const entry = this.#entries.get(namespace);
    this.#entries.delete(namespace);
    await entry?.act.close();
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

async function isUsed(view: Client): Promise<boolean> {
  const [{ runs }, { schedules }, workers] = await Promise.all([
    view.list({ limit: 1 }),
    view.schedules.list({ limit: 1 }),
    view.workers.list(),
  ]);
  return runs.length + schedules.length + workers.length > 0;
}
