/** The codec of a store whose payloads are not plain JSON: a file of the user exports it. */
import path from "node:path";
import type { Codec } from "holdfast";
import { UsageError } from "./failure.ts";
import type { Io } from "./io.ts";

export async function loadCodec(io: Io, name: string): Promise<Codec> {
  const file = path.resolve(io.cwd, name);
  const module = await io.importFile(file).catch((cause: unknown) => {
    throw new UsageError(
      `--codec: ${file} cannot be loaded: ${cause instanceof Error ? cause.message : String(cause)}`,
    );
  });
  const codec = (module["codec"] ?? module["default"]) as Partial<Codec> | undefined;
  if (typeof codec?.encode === "function" && typeof codec.decode === "function") return codec as Codec;
  throw new UsageError(`--codec: ${file} exports no codec. Write: export const codec = encrypted({ … })`);
}
