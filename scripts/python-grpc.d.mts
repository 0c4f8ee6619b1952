/** How Python with gRPC is called, and how its code is generated: the program and its arguments for these options of protoc. */
export interface PythonGrpc {
  readonly python: string;
  readonly env: Readonly<Record<string, string>>;
  readonly generate: (...options: readonly string[]) => readonly [program: string, args: readonly string[]];
}

/** Unpacked if it is not here; or why there is none. */
export function findOrUnpackPythonGrpc(
  cache?: string,
): (PythonGrpc & { readonly missing?: undefined }) | { readonly missing: string };
