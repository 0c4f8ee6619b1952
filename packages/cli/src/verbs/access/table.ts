/** The verbs about who may use a store through a server. */
import type { Verb } from "../../command/verb.ts";
import type { VerbArgument } from "../../command/verb-shape.ts";

const NAME: VerbArgument = { name: "name", about: "the name of the namespace" };
const WHERE =
  "On a store (--url file:… or postgres://…) whoever has its URL may do it; through a server (--url http://…) an admin may.";

export const ACCESS_VERBS: readonly Verb[] = [
  {
    path: "token create",
    about: "make an API key for a namespace, or for all (*), and print its token once",
    details: `${WHERE} The first key is made on the store. A server with --auth keys accepts it.`,
    options: [
      {
        name: "role",
        value: "role",
        about: "what it allows, each with everything before it",
        choices: ["reader", "writer", "worker", "admin"],
      },
      { name: "name", value: "name", about: "what it is for" },
      { name: "expires", value: "time", about: "when it ends: 2027-01-01, or 90d for in ninety days" },
    ],
    examples: [
      "holdfast --url postgres://localhost/app token create --role admin --namespace '*'",
      "holdfast token create --role worker --namespace shop --name 'shop workers' --expires 90d --json",
    ],
    load: async () => (await import("./access.ts")).createToken,
  },
  {
    path: "token list",
    about: "list API keys, without their secrets",
    details: WHERE,
    examples: ["holdfast token list", "holdfast token list --namespace shop --json"],
    load: async () => (await import("./access.ts")).listTokens,
  },
  {
    path: "token revoke",
    about: "revoke an API key; servers refuse it after five seconds, and end its sessions within a minute",
    details: WHERE,
    arguments: [{ name: "id", about: "the id of the key" }],
    examples: ["holdfast token revoke 0123456789abcdef"],
    load: async () => (await import("./access.ts")).revokeToken,
  },
  {
    path: "namespace create",
    about: "create a namespace; one that is not created is when a server first uses it",
    details: WHERE,
    arguments: [NAME],
    options: [
      { name: "display-name", value: "text", about: "its name for people" },
      { name: "description", value: "text", about: "what it is for" },
    ],
    examples: ["holdfast namespace create shop --display-name 'The shop'"],
    load: async () => (await import("./access.ts")).createNamespace,
  },
  {
    path: "namespace list",
    about: "list namespaces",
    details: WHERE,
    examples: ["holdfast namespace list"],
    load: async () => (await import("./access.ts")).listNamespaces,
  },
  {
    path: "namespace enable",
    about: "let a namespace take starts and claims again",
    details: WHERE,
    arguments: [NAME],
    examples: ["holdfast namespace enable shop"],
    load: async () => (await import("./access.ts")).enableNamespace,
  },
  {
    path: "namespace disable",
    about: "take no starts and no claims of a namespace through servers; what is in progress goes on",
    details: WHERE,
    arguments: [NAME],
    examples: ["holdfast namespace disable shop"],
    load: async () => (await import("./access.ts")).disableNamespace,
  },
  {
    path: "audit",
    about: "show who did what: operator actions, keys, namespaces, refused logins; the newest first",
    details: WHERE,
    options: [{ name: "limit", value: "n", about: "at most so many; the default is 50" }],
    examples: ["holdfast audit", "holdfast audit --namespace shop --limit 200 --json"],
    load: async () => (await import("./access.ts")).listAudit,
  },
];
