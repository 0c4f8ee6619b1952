/**
 * Logins with an API key. A session is a row beside the keys of the store, so that every server knows it, and it can be revoked: the
 * cookie has its id and its end, signed with what only the store has. It opens nothing as a bearer token.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type AccessStore, type Clock, isUsableKey, type Random, type Role, type Timer } from "holdfast/adapter";
import { refusal } from "../answers/refusal.ts";
import { SESSION_NAME } from "../reads/settings.ts";
import { isLocal } from "./browser-rules.ts";
import type { Visitor } from "./visitor.ts";

export const SESSION_COOKIE = "holdfast_session";
const SESSION_MS = 12 * 60 * 60 * 1000;
/** A session that was revoked, or whose key was, opens nothing any more after this long. */
const KNOWN_MS = 5_000;
const KNOWN_MAX = 10_000;
/** How often a session with an open page is looked at: whoever is shut out is not to go on reading. */
const LOOK_MS = 1_000;

/** What a key allows. */
export interface KeyGrant {
  readonly id: string;
  readonly role: Role;
  /** `*`: all. */
  readonly namespace: string;
}

export interface KeySessionsParams {
  readonly access: AccessStore;
  readonly clock: Clock;
  readonly random: Random;
  /** Who has the key; throws `unauthenticated` or `rate_limited`. */
  readonly grantOf: (key: string, request: Request) => Promise<KeyGrant>;
}

interface Followed {
  readonly listeners: Set<() => void>;
  timer: Timer | undefined;
}

export class KeySessions {
  readonly #params: KeySessionsParams;
  readonly #known = new Map<string, { readonly visitor: Visitor; readonly until: number }>();
  readonly #followed = new Map<string, Followed>();

  constructor(params: KeySessionsParams) {
    this.#params = params;
  }

  /** The visitor, and the cookie for the browser. */
  async login(key: string, request: Request): Promise<{ readonly visitor: Visitor; readonly cookie: string }> {
    const { access, random, grantOf } = this.#params;
    const { id: keyId, role, namespace } = await grantOf(key, request);
    const id = hex(random.bytes(8));
    const hash = hex(random.bytes(32));
    const read = await access.readKey({ id: keyId });
    const now = read?.now ?? this.#params.clock.now();
    const until = Math.min(Math.floor(now) + SESSION_MS, read?.key.expiresAt ?? Number.POSITIVE_INFINITY);
    await access.addKey({ id, hash, name: `${SESSION_NAME}${keyId}`, role, namespace, expiresAt: until });
    const cookie = cookieText(
      request,
      `${id}.${until}.${signature(hash, id, until)}`,
      Math.floor((until - now) / 1000),
    );
    return { visitor: visitorOf({ id: keyId, role, namespace }), cookie };
  }

  /** Undefined if there is no session, or it has ended. */
  async visitorOf(request: Request): Promise<Visitor | undefined> {
    const value = cookieOf(request);
    if (value === undefined) return undefined;
    const now = this.#params.clock.now();
    const known = this.#known.get(value);
    if (known && now < known.until) return known.visitor;
    this.#known.delete(value);
    const visitor = await this.#lookUp(value);
    if (!visitor) return undefined;
    if (this.#known.size >= KNOWN_MAX) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(value, { visitor, until: now + KNOWN_MS });
    return visitor;
  }

  /** Returns the cookie that takes the other one away. */
  async logout(request: Request): Promise<string> {
    const value = cookieOf(request);
    const id = value?.split(".", 1)[0];
    if (value !== undefined && id !== undefined && (await this.#lookUp(value))) {
      this.#known.delete(value);
      await this.#params.access.revokeKey({ id });
    }
    return cookieText(request, "", 0);
  }

  /** One look a second at each session, however many pages are open, and whichever server or command has revoked it. */
  follow(request: Request, ended: () => void): () => void {
    const value = cookieOf(request);
    if (value === undefined) return () => {};
    const followed = this.#followed.get(value) ?? { listeners: new Set(), timer: undefined };
    followed.listeners.add(ended);
    if (!this.#followed.has(value)) {
      this.#followed.set(value, followed);
      this.#lookSoon(value, followed);
    }
    return () => {
      followed.listeners.delete(ended);
      if (followed.listeners.size > 0 || this.#followed.get(value) !== followed) return;
      followed.timer?.cancel();
      this.#followed.delete(value);
    };
  }

  #lookSoon(value: string, followed: Followed): void {
    followed.timer = this.#params.clock.setTimer(LOOK_MS, () => void this.#lookAgain(value, followed));
    followed.timer.unref?.();
  }

  async #lookAgain(value: string, followed: Followed): Promise<void> {
    // A store that does not answer has revoked nothing.
    const open = await this.#lookUp(value).then(Boolean, () => true);
    if (this.#followed.get(value) !== followed) return;
    if (open) return this.#lookSoon(value, followed);
    this.#known.delete(value);
    this.#followed.delete(value);
    for (const tell of [...followed.listeners]) tell();
  }

  async #lookUp(value: string): Promise<Visitor | undefined> {
    const { access } = this.#params;
    const [, id, until, signed] = /^([0-9a-f]{16})\.(\d{1,15})\.([0-9a-f]{64})$/.exec(value) ?? [];
    if (id === undefined || until === undefined || signed === undefined) return undefined;
    const read = await access.readKey({ id });
    // Compared also if there is no such session: how long the answer takes must not tell.
    const wanted = signature(read?.key.hash ?? "0".repeat(64), id, Number(until));
    const same = timingSafeEqual(Buffer.from(signed), Buffer.from(wanted));
    if (!read || !same || !isUsableKey(read.key, read.now) || !read.key.name.startsWith(SESSION_NAME)) return undefined;
    const keyId = read.key.name.slice(SESSION_NAME.length);
    const key = await access.readKey({ id: keyId });
    if (!key || !isUsableKey(key.key, key.now)) return undefined;
    return visitorOf({ id: keyId, role: key.key.role, namespace: key.key.namespace });
  }
}

export function visitorOf({ id, role, namespace }: KeyGrant): Visitor {
  return { user: id, role: role === "worker" ? "writer" : role, namespaces: [namespace], payloads: "full" };
}

export function requireKey(key: unknown): string {
  if (typeof key === "string" && key !== "" && key.length < 16_384) return key;
  throw refusal(400, "bad_request", "key is missing: an API key.");
}

function signature(hash: string, id: string, until: number): string {
  return createHmac("sha256", hash).update(`holdfast dashboard ${id} ${until}`).digest("hex");
}

function cookieOf(request: Request): string | undefined {
  const cookies = (request.headers.get("cookie") ?? "").split(/;\s*/);
  return cookies.find((one) => one.startsWith(`${SESSION_COOKIE}=`))?.slice(SESSION_COOKIE.length + 1);
}

/** Over plain HTTP a secure cookie would be lost, which is right everywhere but on the reader's own machine. */
function cookieText(request: Request, value: string, seconds: number): string {
  const plain = new URL(request.url).protocol === "http:" && isLocal(request);
  return `${SESSION_COOKIE}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${plain ? "" : "; Secure"}`;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
