// Lets `npx vitest run packages/postgres` work without `npm test` around it: starts the servers that the chosen files
// need, unless somebody has done so already.
import process from "node:process";
import type { TestProject } from "vitest/node";
import { startServers } from "./test-servers.mjs";

const NEEDS_SERVER = /\/packages\/postgres\/test\/|\/torture\/postgres\.test\.ts$|\/scripts\/shutdown\.test\.ts$/;

export default async function setup(project: TestProject): Promise<(() => void) | undefined> {
  if (process.env.HOLDFAST_TEST_POSTGRES_URL) return undefined;
  // Vitest keeps the filters of the command line to itself; without them the server is started for nothing, at worst.
  const { filenamePattern } = project.vitest as { readonly filenamePattern?: string[] };
  const { testFiles } = await project.globTestFiles(filenamePattern);
  if (!testFiles.some((file) => NEEDS_SERVER.test(file))) return undefined;
  const servers = await startServers();
  Object.assign(process.env, servers.env);
  return () => servers.stop();
}
