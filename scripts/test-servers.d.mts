export function startServers(options?: {
  readonly fsync?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
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
  /** Ends it, with SIGQUIT unless told otherwise; resolves when it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on what it has left behind; resolves when it takes connections. */
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
