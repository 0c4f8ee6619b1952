/** Holdfast's server. */

export { createKey, type KeyRequest, type MadeKey } from "./access/api-keys.ts";
export type { AuthMethod } from "./access/authenticator.ts";
export type { CertificateOptions } from "./access/certificates.ts";
export type { JwtOptions } from "./access/json-web-tokens.ts";
export { requireNamespaceName } from "./access/namespace-rules.ts";
export { PERMISSIONS, type Permission, type Permissions } from "./access/permissions.ts";
export type { Grant, Principal } from "./access/principal.ts";
export { DEFAULT_RATES, type Limited, type Rate, type Rates } from "./access/rate-limits.ts";
export type { MountedPages, MountPages, PageGrant, PagesHost } from "./mounted-pages.ts";
export type { MountedService, RunningService, ServiceHost } from "./mounted-service.ts";
export { openServer, type Server } from "./open-server.ts";
export type { NodeHandler, TlsOptions } from "./port/listener.ts";
export { PORT_DEFAULT, type ServerOptions } from "./server-options.ts";
