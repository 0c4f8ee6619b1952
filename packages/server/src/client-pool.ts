/** A client of each namespace that is in use: two, one that passes payloads through and one that reads and writes JSON. */
import { rawCodec } from "@holdfast/protocol";
import type { Client, OpenedClients } from "holdfast/adapter";

/** So many namespaces have clients at the same time; those that are in use are never closed. */
const NAMESPACES_MAX = 1_000;

export interface NamespaceClients {
  /** Its payloads are `RawPayload`s. */
  readonly raw: Client;
  /** For what is the server's own: batches. */
  readonly plain: Client;
}

interface Entry extends NamespaceClients {
  uses: number;
}

export class ClientPool {
  readonly #opened: OpenedClients;
  readonly #entries = new Map<string, Entry>();

  constructor(opened: OpenedClients) {
    this.#opened = opened;
  }

  async use<R>(namespace: string, work: (clients: NamespaceClients) => Promise<R>): Promise<R> {
    const { clients, release } = this.hold(namespace);
    try {
      return await work(clients);
    } finally {
      release();
    }
  }

  /** The same for as long as the caller wants. */
  hold(namespace: string): { readonly clients: NamespaceClients; release(): void } {
    const entry = this.#entryOf(namespace);
    entry.uses += 1;
    return {
      clients: entry,
      release: () => {
        entry.uses -= 1;
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(closeBoth));
    this.#entries.clear();
  }

  #entryOf(namespace: string): Entry {
    const known = this.#entries.get(namespace);
    this.#entries.delete(namespace);
    const entry = known ?? {
      raw: this.#opened.client(namespace, rawCodec),
      plain: this.#opened.client(namespace),
      uses: 0,
    };
    // The least recently used come first.
    this.#entries.set(namespace, entry);
    if (this.#entries.size > NAMESPACES_MAX) this.#dropIdle();
    return entry;
  }

  #dropIdle(): void {
    for (const [namespace, entry] of this.#entries) {
      if (entry.uses > 0) continue;
      this.#entries.delete(namespace);
      void closeBoth(entry);
      return;
    }
  }
}

async function closeBoth({ raw, plain }: NamespaceClients): Promise<void> {
  await Promise.all([raw.close(), plain.close()]);
}
