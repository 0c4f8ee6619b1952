import type { ConnectOptions } from "holdfast";
import type { Logger, OpenedClients, StoreAdapter, StoreOptions } from "holdfast/adapter";
import type { AuthMethod } from "./access/authenticator.ts";
import type { CertificateOptions } from "./access/certificates.ts";
import type { JwtOptions } from "./access/json-web-tokens.ts";
import type { Rates } from "./access/rate-limits.ts";
import type { MountPages } from "./mounted-pages.ts";
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
   * The dashboard, which is served at `/`: `serverDashboard` of `@holdfast/dashboard/server`. It takes the place of `pages`.
   * @defaultValue none
   */
  readonly dashboard?: MountPages;
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
