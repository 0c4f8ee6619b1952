/** Audit, settings, batches. */

/** `GET api/{ns}/audit?limit=100&cursor=&actor=&action=&subject=`: newest first. `available: false` where the store keeps none (through a server: see its own). */
export interface AuditPage {
  readonly available: boolean;
  readonly entries: readonly {
    readonly at: number;
    readonly actor: string;
    /** What the key of the actor is called; null if it is none. */
    readonly actorName: string | null;
    readonly action: string;
    readonly namespace: string;
    readonly subject: string;
    readonly outcome: string;
    readonly address: string;
  }[];
  readonly cursor: string | null;
}

/** `GET api/{ns}/settings`. */
export interface SettingsView {
  readonly namespace: string;
  readonly store: string;
  readonly version: string;
  readonly retention: Readonly<Record<string, string>>;
  /** Namespaces that may reach runs of this one. */
  readonly allowed: readonly string[];
  readonly namespaces: readonly {
    readonly name: string;
    readonly disabled: boolean;
    readonly encryptedOnly: boolean;
  }[];
  /** For admins, where the store keeps keys; never a token. */
  readonly tokens: readonly {
    readonly id: string;
    readonly name: string;
    readonly role: string;
    readonly namespace: string;
    readonly createdAt: number;
    readonly expiresAt: number | null;
    readonly lastUsedAt: number | null;
    readonly revokedAt: number | null;
  }[];
  /** Sessions of the dashboard itself, for admins. */
  readonly sessions: readonly {
    readonly id: string;
    readonly user: string;
    readonly since: number;
    readonly until: number;
    readonly current: boolean;
  }[];
  readonly codec: { readonly name: string; readonly codecUrl: string | null };
  readonly limits: Readonly<Record<string, number>>;
}

/** `GET api/{ns}/batches`: batches, newest first; at most 50. `GET api/{ns}/batches/{id}`: one. They go on when nobody looks. */
export interface BatchesView {
  readonly batches: readonly BatchRow[];
}

export interface BatchRow {
  readonly id: string;
  readonly action: string;
  /** `running`, `paused`, `completed`, `canceled`, `failed`. */
  readonly status: string;
  readonly matched: number;
  readonly done: number;
  readonly skippedCount: number;
  /** The first 1,000. */
  readonly skipped: readonly { readonly runId: string; readonly code: string }[];
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly by: string | null;
  readonly reason: string | null;
}
