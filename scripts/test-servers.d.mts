export function startServers(options?: {
  readonly fsync?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
}): Promise<{
  readonly postgresUrl: string;
  readonly env: Readonly<Record<string, string>>;
  stop(): void;
}>;
