/** How a shell is called, and the lines that it must execute before it finds its own files. */
export interface Shell {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
  readonly setup: readonly string[];
}

/** Unpacked if it is not here; or why there is none. */
export function findOrUnpackShell(
  name: "bash" | "zsh" | "fish",
  cache?: string,
): (Shell & { readonly missing?: undefined }) | { readonly missing: string };
