/** Tenants. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Namespace, NamespaceSchema, type NamespaceService, type Webhook } from "@holdfast/protocol";
import {
  type AccessStore,
  HoldfastError,
  type NamespaceChange,
  type NamespaceRow,
  type NamespaceSettings,
  nameFault,
  RESERVED_PREFIX,
  type WebhookSettings,
} from "holdfast/adapter";
import { type NamespaceRules, requireNamespaceName } from "../access/namespace-rules.ts";
import { requireAccess } from "./access-service.ts";
import type { Handlers } from "./call.ts";
import { pageInfo, pageOptions, refused, required } from "./pages.ts";

const SECRET_LENGTH_MIN = 16;
const TEXT_MAX = 4_000;
const WEBHOOKS_MAX = 100;

export interface NamespaceServiceParams {
  readonly access: AccessStore | undefined;
  readonly namespaces: NamespaceRules;
}

export function namespaceService({ access, namespaces }: NamespaceServiceParams): Handlers<typeof NamespaceService> {
  const change = async (wanted: NamespaceChange): Promise<Namespace> => {
    const row = await requireAccess(access).changeNamespace(wanted);
    namespaces.forget(wanted.name);
    if (!row) throw notFound(wanted.name);
    return toNamespace(row);
  };
  return {
    async createNamespace({ namespace: name, displayName, description }) {
      requireNamespaceName(required(name, "namespace"));
      requireTexts({ displayName, description });
      const { created, row } = await requireAccess(access).createNamespace({ name, displayName, description });
      namespaces.forget(name);
      if (created) return { namespace: toNamespace(row) };
      const message = `Namespace "${name}" exists already.`;
      throw new HoldfastError("namespace_already_exists", message, { data: { namespace: name } });
    },

    async getNamespace(_message, { namespace: name }) {
      const row = await requireAccess(access).readNamespace({ name });
      if (!row) throw notFound(name);
      return { namespace: toNamespace(row) };
    },

    async listNamespaces({ page }) {
      const { limit, cursor = null } = pageOptions(page);
      const rows = await requireAccess(access).listNamespaces({ after: cursor, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      const next = rows.length > limit ? (shown.at(-1)?.name ?? null) : null;
      return { namespaces: shown.map(toNamespace), page: pageInfo(next) };
    },

    async updateNamespace(message, { namespace: name }) {
      const { displayName, description, requiresEncryption, webhooks } = message;
      requireTexts({ displayName: displayName ?? "", description: description ?? "" });
      const row = await requireAccess(access).readNamespace({ name });
      if (!row) throw notFound(name);
      const settings = settingsWith(row.settings, requiresEncryption, webhooks);
      return {
        namespace: await change({
          name,
          settings,
          ...(displayName === undefined ? {} : { displayName }),
          ...(description === undefined ? {} : { description }),
        }),
      };
    },

    async enableNamespace({ namespace: name }) {
      requireNamespaceName(required(name, "namespace"));
      return { namespace: await change({ name, enabled: true }) };
    },

    async disableNamespace({ namespace: name }) {
      requireNamespaceName(required(name, "namespace"));
      return { namespace: await change({ name, enabled: false }) };
    },
  };
}

function settingsWith(
  known: NamespaceSettings,
  requiresEncryption: boolean | undefined,
  changed: Readonly<Record<string, Webhook>>,
): NamespaceSettings {
  const webhooks: Record<string, WebhookSettings> = { ...known.webhooks };
  for (const [name, webhook] of Object.entries(changed)) {
    if (webhook.workflowType === "" && webhook.signal === "") delete webhooks[name];
    else webhooks[name] = webhookOf(name, webhook, webhooks[name]);
  }
  if (Object.keys(webhooks).length > WEBHOOKS_MAX) throw refused("webhooks", `are more than ${WEBHOOKS_MAX}`);
  return { ...known, ...(requiresEncryption === undefined ? {} : { requiresEncryption }), webhooks };
}

function webhookOf(name: string, webhook: Webhook, before: WebhookSettings | undefined): WebhookSettings {
  const { workflowType, signal, externalIdPath, keyPath, secret: given } = webhook;
  if (!/^[\w-]{1,100}$/.test(name))
    throw refused("webhooks", `has the name "${name.slice(0, 40)}": letters, digits, "-" and "_" only`);
  const secret = given === "" ? (before?.secret ?? "") : given;
  if (secret.length < SECRET_LENGTH_MIN)
    throw refused("secret", `of webhook "${name}" has fewer than ${SECRET_LENGTH_MIN} characters`);
  requirePossible(name, webhook);
  return {
    secret,
    ...(workflowType === "" ? {} : { workflow: workflowType }),
    ...(signal === "" ? {} : { signal }),
    ...(externalIdPath === "" ? {} : { idPath: externalIdPath }),
    ...(keyPath === "" ? {} : { keyPath }),
  };
}

/** A setting with which every delivery would be refused is refused when it is made. */
function requirePossible(name: string, { workflowType, signal, externalIdPath, keyPath }: Webhook): void {
  if (workflowType === "" && externalIdPath === "")
    throw refused("external_id_path", `of webhook "${name}" is empty: its signal would reach no run`);
  if (workflowType === "" && keyPath !== "")
    throw refused("key_path", `of webhook "${name}" is set, but it starts no run: set workflow_type, too`);
  for (const [field, text] of Object.entries({ workflow_type: workflowType, signal })) {
    const isReserved = text.startsWith(RESERVED_PREFIX);
    const fault = text === "" ? undefined : isReserved ? `begins with "${RESERVED_PREFIX}"` : nameFault(text);
    if (fault !== undefined) throw refused(field, `of webhook "${name}" ${fault}`);
  }
}

/** Without the secrets of webhooks. */
function toNamespace({
  name,
  displayName,
  description,
  enabled,
  settings,
  createdAt,
  updatedAt,
}: NamespaceRow): Namespace {
  const webhooks = Object.entries(settings.webhooks ?? {}).map(
    ([key, { workflow = "", signal = "", idPath = "", keyPath = "" }]) =>
      [key, { workflowType: workflow, signal, externalIdPath: idPath, keyPath, secret: "" }] as const,
  );
  return create(NamespaceSchema, {
    id: name,
    namespace: name,
    displayName,
    description,
    enabled,
    createdAt: timestampFromDate(new Date(createdAt)),
    updatedAt: timestampFromDate(new Date(updatedAt)),
    requiresEncryption: settings.requiresEncryption ?? false,
    webhooks: Object.fromEntries(webhooks),
  });
}

function requireTexts(texts: Readonly<Record<string, string>>): void {
  for (const [field, text] of Object.entries(texts))
    if (text.length > TEXT_MAX || text.includes("\u0000"))
      throw refused(field, `is longer than ${TEXT_MAX} characters, or has a NUL`);
}

function notFound(name: string): HoldfastError {
  return new HoldfastError("namespace_not_found", `There is no namespace "${name}".`, { data: { namespace: name } });
}
