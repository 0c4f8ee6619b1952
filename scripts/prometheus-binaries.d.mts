/** The folder with prometheus and promtool, if they are here already. */
export function findPrometheus(cache?: string): string | undefined;

/** The folder with them, unpacked if they are not here; or why there are none, and what to do. */
export function findOrUnpackPrometheus(
  cache?: string,
):
  | { readonly folder: string; readonly missing?: undefined }
  | { readonly folder?: undefined; readonly missing: string };
