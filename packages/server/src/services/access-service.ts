/** API keys and audit events. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type AdminService, Role as RoleMessage, type Token, TokenSchema } from "@holdfast/protocol";
import {
  type AccessKeyRow,
  type AccessStore,
  type Clock,
  HoldfastError,
  type Random,
  ROLES,
  type Role,
} from "holdfast/adapter";
import { createKey } from "../access/api-keys.ts";
import type { AuditLog } from "../access/audit-log.ts";
import { requireNamespaceName } from "../access/namespace-rules.ts";
import { ALL_NAMESPACES, isAllowed, requireAllowed } from "../access/principal.ts";
import type { Handlers } from "./call.ts";
import { dateOf, pageInfo, pageOptions, refused, required } from "./pages.ts";

const ROLE_MESSAGES: Readonly<Record<Role, RoleMessage>> = {
  reader: RoleMessage.READER,
  writer: RoleMessage.WRITER,
  worker: RoleMessage.WORKER,
  admin: RoleMessage.ADMIN,
};
const NAME_MAX = 200;

export interface AccessServiceParams {
  readonly access: AccessStore | undefined;
  readonly random: Random;
  readonly clock: Clock;
  readonly audit: AuditLog;
}

type AccessHandlers = Pick<
  Handlers<typeof AdminService>,
  "createToken" | "listTokens" | "revokeToken" | "listAuditEvents"
>;

export function accessHandlers({ access, random, clock, audit }: AccessServiceParams): AccessHandlers {
  return {
    async createToken(message, { namespace, principal }) {
      const role = roleOf(message.role);
      if (namespace !== ALL_NAMESPACES) requireNamespaceName(namespace);
      // Nobody gives away more than they have.
      requireAllowed(principal, role, namespace, "CreateToken");
      if (message.name.length > NAME_MAX) throw refused("name", `is longer than ${NAME_MAX} characters`);
      const expiresAt = dateOf(message.expiresAt, "expires_at") ?? null;
      if (expiresAt && expiresAt.getTime() <= clock.now()) throw refused("expires_at", "has passed");
      const asked = { name: message.name, role, namespace, expiresAt };
      const { id, token } = await createKey(requireAccess(access), random, asked, clock);
      const read = await requireAccess(access).readKey({ id });
      return { token, ...(read ? { info: toToken(read.key) } : {}) };
    },

    async listTokens(_message, { namespace }) {
      const own = namespace === ALL_NAMESPACES ? null : namespace;
      const keys = await requireAccess(access).listKeys({ namespace: own });
      return { tokens: keys.map(toToken) };
    },

    async revokeToken({ id }, { namespace, principal }) {
      const store = requireAccess(access);
      const read = await store.readKey({ id: required(id, "id") });
      const theirs = read && (read.key.namespace === namespace || namespace === ALL_NAMESPACES);
      if (!theirs || !isAllowed(principal, "admin", read.key.namespace)) throw tokenNotFound(id);
      const revoked = await store.revokeKey({ id });
      return revoked ? { info: toToken(revoked) } : {};
    },

    async listAuditEvents({ page }, { namespace }) {
      await audit.flush();
      const { limit, cursor } = pageOptions(page);
      const before = cursor === undefined ? null : Number(cursor);
      if (before !== null && !Number.isSafeInteger(before)) throw refused("page_token", "is not one of this list");
      const own = namespace === ALL_NAMESPACES ? null : namespace;
      const rows = await requireAccess(access).listAudit({ namespace: own, before, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      return {
        events: shown.map(({ number, at, eventId: _, ...event }) => ({
          ...event,
          number: BigInt(number),
          at: timestampFromDate(new Date(at)),
        })),
        page: pageInfo(rows.length > limit ? String(shown.at(-1)?.number) : null),
      };
    },
  };
}

export function requireAccess(access: AccessStore | undefined): AccessStore {
  if (access) return access;
  throw new HoldfastError("not_supported", "The store of this server keeps neither namespaces nor API keys.");
}

function roleOf(role: RoleMessage): Role {
  const known = ROLES.find((one) => ROLE_MESSAGES[one] === role);
  if (known) return known;
  throw refused("role", "is not set; it is READER, WRITER, WORKER or ADMIN");
}

/** Without its hash. */
function toToken({ id, name, role, namespace, createdAt, expiresAt, lastUsedAt, revokedAt }: AccessKeyRow): Token {
  const at = (ms: number) => timestampFromDate(new Date(ms));
  return create(TokenSchema, {
    id,
    name,
    role: ROLE_MESSAGES[role],
    namespace,
    createdAt: at(createdAt),
    ...(expiresAt === null ? {} : { expiresAt: at(expiresAt) }),
    ...(lastUsedAt === null ? {} : { lastUsedAt: at(lastUsedAt) }),
    ...(revokedAt === null ? {} : { revokedAt: at(revokedAt) }),
  });
}

function tokenNotFound(id: string): HoldfastError {
  const message = `There is no API key "${id.slice(0, 100)}" here.`;
  return new HoldfastError("token_not_found", message, { data: { tokenId: id.slice(0, 100) } });
}
