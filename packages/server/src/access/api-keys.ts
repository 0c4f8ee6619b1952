/** API keys: `hf_<id>_<256 random bits>`. The store has only the SHA-256 of a token, which is shown once. */
import { createHash, timingSafeEqual } from "node:crypto";
import {
  type AccessKeyRow,
  type AccessStore,
  type Clock,
  checkOptions,
  HoldfastError,
  invalidOption,
  isText,
  isUsableKey,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  type Random,
  ROLES,
  type Role,
  systemPorts,
  valueFault,
} from "holdfast/adapter";
import { requireNamespaceName } from "./namespace-rules.ts";
import { ALL_NAMESPACES, type Principal } from "./principal.ts";

const ID_BYTES = 8;
const SECRET_BYTES = 32;
const NAME_LENGTH_MAX = 200;
const TOKEN = /^hf_([0-9a-f]{16})_([0-9a-f]{64})$/;
/** A key that was revoked opens nothing any more after this long. */
export const KEY_CACHED_MS = 5_000;

export interface KeyRequest {
  readonly name: string;
  readonly role: Role;
  readonly namespace: string;
  readonly expiresAt: Date | null;
}

export interface MadeKey {
  readonly id: string;
  readonly token: string;
  readonly role: Role;
  readonly namespace: string;
  readonly expiresAt: Date | null;
}

const isKeyName: OptionCheck = (value, where, option) => {
  isText(value, where, option);
  const name = value as string;
  const isLong = name.length > NAME_LENGTH_MAX;
  const fault = isLong ? `is ${name.length} characters long; the limit is ${NAME_LENGTH_MAX}` : valueFault(name);
  if (fault !== undefined) throw invalidOption(where, option, fault);
};

const KEY_CHECKS: OptionChecks<KeyRequest> = {
  name: isKeyName,
  role: oneOf(...ROLES),
  namespace(value, where, option) {
    isText(value, where, option);
    if (value !== ALL_NAMESPACES) requireNamespaceName(value as string);
  },
  expiresAt(value, where, option) {
    if (value !== null && (!(value instanceof Date) || Number.isNaN(value.getTime())))
      throw invalidOption(where, option, "is neither a valid Date nor null");
  },
};

/** Makes a key. The token exists nowhere else. Throws `invalid_option` or `invalid_name` for one that could never be used. */
export async function createKey(
  access: AccessStore,
  random: Random,
  asked: KeyRequest,
  clock: Clock = systemPorts.clock,
): Promise<MadeKey> {
  checkOptions(asked, KEY_CHECKS, "createKey");
  for (const option of ["name", "role", "namespace", "expiresAt"] as const)
    if (asked?.[option] === undefined) throw invalidOption("createKey", option, "is missing");
  if (asked.expiresAt && asked.expiresAt.getTime() <= clock.now())
    throw invalidOption("createKey", "expiresAt", "has passed");
  const id = hex(random.bytes(ID_BYTES));
  const token = `hf_${id}_${hex(random.bytes(SECRET_BYTES))}`;
  const { name, role, namespace, expiresAt } = asked;
  const { added } = await access.addKey({
    id,
    hash: hashOf(token),
    name,
    role,
    namespace,
    expiresAt: expiresAt?.getTime() ?? null,
  });
  if (!added) throw new HoldfastError("invariant_broken", `The id ${id} of a new key is taken.`);
  return { id, token, role, namespace, expiresAt };
}

/** Who has this token, by the keys of the store; undefined if it opens nothing. */
export async function principalOfKey(
  access: AccessStore,
  token: string,
  nowMs: number,
): Promise<Principal | undefined> {
  const id = TOKEN.exec(token)?.[1];
  if (id === undefined) return undefined;
  const read = await access.readKey({ id });
  // Compared also if there is no such key: how long the answer takes must not tell.
  const same = timingSafeEqual(Buffer.from(hashOf(token)), Buffer.from(read?.key.hash ?? "0".repeat(64)));
  if (!read || !same || !isUsableKey(read.key, read.now)) return undefined;
  return principalOf(read.key, nowMs, read.now);
}

function principalOf({ id, role, namespace, expiresAt }: AccessKeyRow, nowMs: number, storeNow: number): Principal {
  const leftMs = expiresAt === null ? KEY_CACHED_MS : Math.min(KEY_CACHED_MS, expiresAt - storeNow);
  return { id, grants: [{ role, namespace }], until: nowMs + leftMs };
}

/** The SHA-256 of a token, as the store keeps it. */
export function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
