import type { PostgresSource } from "./postgres-binaries.mjs";

export { findOrUnpackPrometheus } from "./prometheus-binaries.mjs";
export { findOrUnpackPythonGrpc, type PythonGrpc } from "./python-grpc.mjs";
export { findOrUnpackShell, type Shell } from "./shells.mjs";

export function startServers(options?: {
  readonly fsync?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
  /** Where the programs of PostgreSQL come from, `postgresSources()` by default. */
  readonly sources?: readonly PostgresSource[];
}): Promise<{
  readonly postgresUrl: string;
  readonly env: Readonly<Record<string, string>>;
  stop(): void;
}>;

export interface OwnServer {
  readonly url: string;
  /** The folder with its data. */
  readonly data: string;
  /** Where the small disk is mounted, as the server sees it. */
  readonly smallDisk: string;
  /** Ends it, with SIGQUIT by default; resolves when it has exited. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on its data; resolves when it accepts connections. */
  start(): Promise<void>;
  /** Ends it for good and removes its data. */
  stop(): void;
}

export function canStartOwnServer(): boolean;

export function canMountSmallDisk(): boolean;

export function startOwnServer(
  settings?: Readonly<Record<string, string>>,
  options?: { readonly smallDiskMiB?: number },
): Promise<OwnServer>;
