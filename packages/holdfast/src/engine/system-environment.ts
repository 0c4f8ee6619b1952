import type { Environment } from "../ports/environment.ts";
import { digestOfProgram } from "./program-digest.ts";

const digests = new Map<string, string | undefined>();

/** This process. Files are read once: it runs the code that it was started with. */
export const systemEnvironment: Environment = {
  programDigest(file) {
    if (!digests.has(file)) digests.set(file, digestOfProgram(file));
    return digests.get(file);
  },
};
