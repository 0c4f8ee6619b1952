export function startServers(options?: { readonly fsync?: boolean }): Promise<{
  readonly postgresUrl: string;
  readonly env: Readonly<Record<string, string>>;
  stop(): void;
}>;
