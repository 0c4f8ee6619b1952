/** Who did what through the dashboard: written beside the action, which does not wait for it. */
import { type ClientStore, uuidV7 } from "holdfast/adapter";
import type { Ask } from "./reads/scope.ts";
import { addressOf } from "./request-address.ts";

const TEXT_MAX = 400;

export class AuditTrail {
  readonly #store: ClientStore;
  readonly #writing = new Set<Promise<void>>();

  constructor(store: ClientStore) {
    this.#store = store;
  }

  add({ scope, parts, body, request }: Ask, action: string, outcome: string): void {
    const { access, clock, random, log } = this.#store;
    if (!access) return;
    const { run, id, name, workerId } = parts;
    const { workflow, id: given, name: called } = (body ?? {}) as Partial<Record<string, unknown>>;
    const subject = run ?? workerId ?? name ?? id ?? given ?? called ?? workflow ?? "";
    const event = {
      eventId: uuidV7(clock.now(), random.bytes(16)),
      actor: shown(scope.visitor.user),
      action,
      namespace: scope.namespace,
      subject: shown(String(subject)),
      outcome,
      address: addressOf(request) ?? "dashboard",
    };
    const writing: Promise<void> = access
      .addAudit({ events: [event] })
      .catch((error: unknown) => log.error({ error: String(error) }, "an audit event could not be written"))
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  async flush(): Promise<void> {
    await Promise.all(this.#writing);
  }
}

/** Texts of callers, so that every store keeps them. */
function shown(text: string): string {
  return text
    .slice(0, TEXT_MAX)
    .replace(/[\u0000-\u001f\u007f\ud800-\udfff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
