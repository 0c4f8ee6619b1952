import type { ConnectOptions } from "holdfast";
import { HoldfastError, type Logger, type OpenedClients, type StoreAdapter, type StoreOptions } from "holdfast/adapter";
import type { AuthMethod } from "./access/authenticator.ts";
import type { CertificateOptions } from "./access/certificates.ts";
import type { JwtOptions } from "./access/json-web-tokens.ts";
import type { Rates } from "./access/rate-limits.ts";
import type { MountedService } from "./mounted-service.ts";
import type { NodeHandler, TlsOptions } from "./port/listener.ts";
import type { ServiceLimits } from "./store-service/service-limits.ts";

/** Options of `openServer`. */
export interface ServerOptions extends Omit<StoreOptions, "tls" | "token"> {
  /** The store: `postgres://…`, `file:app.db`, `memory:`. */
  readonly url: string;
  /**
   * The address to listen on.
   * @defaultValue `"127.0.0.1"`
   */
  readonly host?: string;
  /**
   * The port to listen on; `0` takes a free one.
   * @defaultValue `7433`
   */
  readonly port?: number;
  /**
   * How callers prove who they are: one way, or several.
   * @defaultValue `"none"`: everybody may do everything
   */
  readonly auth?: AuthMethod | readonly AuthMethod[];
  /**
   * Whose JWTs are accepted, for `auth: "jwt"`.
   * @defaultValue none
   */
  readonly jwt?: JwtOptions;
  /**
   * What names in client certificates may do, for `auth: "mtls"`.
   * @defaultValue none
   */
  readonly mtls?: CertificateOptions;
  /**
   * A certificate with its key; or `"proxy"` if something before the server has one.
   * @defaultValue none: the traffic is not encrypted
   */
  readonly tls?: TlsOptions | "proxy";
  /**
   * Listen on a public address without TLS or without authentication.
   * @defaultValue `false`
   */
  readonly insecurePublic?: boolean;
  /**
   * Other names under which a server without authentication may be called.
   * @defaultValue none: only `localhost` and its addresses
   */
  readonly hosts?: readonly string[];
  /**
   * How many calls of each kind a key, and a namespace, may make.
   * @defaultValue 2,000 starts, 1,000 claims, 500 reads and 64 MiB a second
   */
  readonly limits?: Partial<Rates>;
  /**
   * Whether the server does what some worker must do: reclaim the work of dead workers, fire schedules, delete what is not kept.
   * @defaultValue `true`
   */
  readonly coordinate?: boolean;
  /**
   * How long `close` waits before it refuses new connections: until balancers have noticed that the server is not ready.
   * @defaultValue `0`
   */
  readonly balancerMs?: number;
  /**
   * Further services on the same port.
   * @defaultValue none
   */
  readonly services?: readonly MountedService[];
  /**
   * Answers every other path: the pages of a dashboard.
   * @defaultValue none: 404
   */
  readonly pages?: NodeHandler;
  /**
   * More metrics for `/metrics`, in the text format of Prometheus.
   * @defaultValue none
   */
  readonly metrics?: () => Promise<string>;
  /**
   * Where log lines go.
   * @defaultValue standard error
   */
  readonly logger?: Logger;
  /**
   * The adapters that open URLs.
   * @defaultValue none: every package is loaded by its name
   */
  readonly adapters?: readonly StoreAdapter[];
  /**
   * Limits on payloads and others, as for `connect`.
   * @defaultValue `DEFAULT_LIMITS`
   */
  readonly runLimits?: NonNullable<ConnectOptions["limits"]>;
  /** @internal For tests: how long a client may take to send. */
  readonly patience?: { readonly headersMsMax?: number; readonly bodyMsMax?: number };
  /** @internal For tests: limits of sessions, how often it is asked whether their tokens are still good, and the first sweep. */
  readonly sessions?: {
    readonly limits?: Partial<ServiceLimits>;
    readonly recheckMs?: number;
    readonly firstSweepMs?: number;
  };
  /** @internal For tests. */
  readonly open?: () => Promise<OpenedClients>;
}

export const PORT_DEFAULT = 7433;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/;

export function authMethods({ auth = "none" }: ServerOptions): readonly AuthMethod[] {
  return typeof auth === "string" ? [auth] : auth;
}

/** Refuses what would open a store to everybody by accident. */
export function checkServerOptions(options: ServerOptions): void {
  const methods = authMethods(options);
  const { host = "127.0.0.1", tls, insecurePublic = false, jwt, mtls } = options;
  if (methods.length === 0) throw refused("auth", 'is an empty list; use "none" if nobody is to log in');
  for (const method of methods)
    if (!["none", "keys", "jwt", "mtls"].includes(method)) throw refused("auth", `has "${method}", which is not known`);
  if (methods.includes("none") && methods.length > 1) throw refused("auth", 'has "none" beside another way to log in');
  if (methods.includes("jwt") && !jwt) throw refused("jwt", "is missing: name the issuer and the audience");
  if (methods.includes("mtls") && (!mtls || typeof tls !== "object" || tls.ca === undefined))
    throw refused("mtls", "needs its table of names, and tls with the ca that signs client certificates");
  if (LOOPBACK.test(host) || insecurePublic) return;
  if (methods.includes("none")) {
    const advice = "Set auth, or insecurePublic if everybody who reaches this address may do everything";
    throw refused("host", `is ${host}, which others can reach, and nobody has to log in. ${advice}`);
  }
  if (tls === undefined) {
    const advice = 'Set tls; "proxy" if something before the server encrypts; or insecurePublic';
    throw refused("host", `is ${host}, which others can reach, and tokens would travel unencrypted. ${advice}`);
  }
}

function refused(option: string, fault: string): HoldfastError {
  return new HoldfastError("invalid_option", `openServer: ${option} ${fault}.`, { data: { option } });
}
