// Lets `npx vitest run packages/postgres` work without `npm test`: starts the servers that the chosen files need,
// unless they are already running.
import process from "node:process";
import type { TestProject } from "vitest/node";
import { startServers } from "./test-servers.mjs";

const NEEDS_SERVER =
  /\/packages\/(?:postgres|cli)\/test\/|\/packages\/dashboard\/test\/stores\.test\.ts$|\/torture\/postgres\.test\.ts$|\/scripts\/shutdown\.test\.ts$/;

export default async function setup(project: TestProject): Promise<(() => void) | undefined> {
  if (process.env.HOLDFAST_TEST_POSTGRES_URL) return undefined;
  // Vitest does not expose the command-line filters officially; without them, at worst the server is started for
  // nothing.
  const { filenamePattern } = project.vitest as { readonly filenamePattern?: string[] };
  const found = await Promise.all(project.vitest.projects.map((one) => one.globTestFiles(filenamePattern)));
  if (!found.some(({ testFiles }) => testFiles.some((file) => NEEDS_SERVER.test(file)))) return undefined;
  const servers = await startServers();
  Object.assign(process.env, servers.env);
  return () => servers.stop();
}
