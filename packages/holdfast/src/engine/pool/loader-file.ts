/** The file that is started as a process of a pool, beside this one. Undefined in a bundle that knows no files. */
export function loaderFile(): string | undefined {
  const here = import.meta.url as string | undefined;
  if (here === undefined) return undefined;
  // Sources and compiled files have different endings.
  return new URL(`./loader${here.slice(here.lastIndexOf("."))}`, here).href;
}
