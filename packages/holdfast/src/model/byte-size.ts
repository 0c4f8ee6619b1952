/** An amount of memory: `"512 MiB"`, `"1.5 GiB"`. */
export type ByteSize = `${number}${"" | " "}${"MiB" | "GiB"}`;

const SIZE = /^([0-9]{1,9}(?:\.[0-9]{1,3})?) ?(MiB|GiB)$/;

/** Undefined if it is not a size. */
export function bytesOf(size: unknown): number | undefined {
  const match = typeof size === "string" ? SIZE.exec(size) : null;
  if (!match) return undefined;
  return Math.round(Number(match[1]) * 1024 ** (match[2] === "GiB" ? 3 : 2));
}
