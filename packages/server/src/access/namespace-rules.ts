/** Which names namespaces may have, and whether they are enabled. */
import { type AccessStore, type Clock, HoldfastError, type NamespaceRow, valueFault } from "holdfast/adapter";

/** The first parts of paths of the server itself. */
const RESERVED = ["api", "assets", "livez", "readyz", "metrics", "hooks", "login"];
const NAME_MAX = 200;
/** A namespace that was disabled takes nothing any more after this long. */
const CACHED_MS = 5_000;
const CACHED_MAX = 10_000;

/** For every call: a name that could be one. */
export function requireNamespaceName(name: string): void {
  const fault = nameFault(name);
  if (fault === undefined) return;
  throw new HoldfastError("invalid_name", `The namespace "${name.slice(0, NAME_MAX)}" ${fault}.`, {
    data: { namespace: name.slice(0, NAME_MAX) },
  });
}

export function isNamespaceName(name: string): boolean {
  return nameFault(name) === undefined;
}

function nameFault(name: string): string | undefined {
  if (name === "" || name.length > NAME_MAX)
    return `has ${name.length} characters; between 1 and ${NAME_MAX} are allowed`;
  if (RESERVED.includes(name)) return "is a path of the server: choose another name";
  if (name.includes(".") || name === "*" || /[\u0000-\u001f\u007f/\\?#%]/.test(name) || valueFault(name))
    return "has a character that is not allowed: no dot, slash, question mark, percent sign, control character";
  return name.startsWith("holdfast") && name !== "holdfast" && /^holdfast[^a-z]/.test(name) ? "is reserved" : undefined;
}

/** The rows of namespaces, read at most every few seconds. A namespace without a row is enabled: it is created when first used. */
export class NamespaceRules {
  readonly #access: AccessStore | undefined;
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly row: NamespaceRow | null; readonly at: number }>();

  constructor(access: AccessStore | undefined, clock: Clock) {
    this.#access = access;
    this.#clock = clock;
  }

  async read(name: string): Promise<NamespaceRow | null> {
    const known = this.#known.get(name);
    const now = this.#clock.monotonic();
    if (known && now - known.at < CACHED_MS) return known.row;
    const row = (await this.#access?.readNamespace({ name })) ?? null;
    if (this.#known.size >= CACHED_MAX) this.#known.clear();
    this.#known.set(name, { row, at: now });
    return row;
  }

  /** For starts and claims. */
  async requireEnabled(name: string): Promise<void> {
    const row = (await this.read(name)) ?? (await this.#create(name));
    if (!row || row.enabled) return;
    const message = `Namespace "${name}" is disabled: it takes no starts, and its work is not handed out.`;
    throw new HoldfastError("namespace_disabled", message, { data: { namespace: name } });
  }

  /** This server has changed it. */
  forget(name: string): void {
    this.#known.delete(name);
  }

  async #create(name: string): Promise<NamespaceRow | undefined> {
    const made = await this.#access?.createNamespace({ name, displayName: "", description: "" });
    if (made) this.forget(name);
    return made?.row;
  }
}
