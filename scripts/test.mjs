// Runs the tests. The last line is always `N passed, N failed, N skipped`.
// Extra arguments go to vitest: npm test -- packages/holdfast/src/model
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { bin, ensureInstalled, root, run } from "./ensure-installed.mjs";
import { startServers } from "./test-servers.mjs";

ensureInstalled();

const directory = mkdtempSync(path.join(os.tmpdir(), "holdfast-test-"));
const reportFile = path.join(directory, "report.json");
const args = ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
const code = await runWithServers(bin("vitest"), [...args, ...process.argv.slice(2)]);
const report = readReport(reportFile);
rmSync(directory, { recursive: true, force: true });

const passed = report?.numPassedTests ?? 0;
const brokenFiles = (report?.testResults ?? []).filter(isBroken);
const failed = (report?.numFailedTests ?? 0) + brokenFiles.length;
const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);

if (!report) console.error("vitest wrote no report: it stopped before the tests ran (see above).");
else if (passed + failed === 0) console.error("No tests ran. Check the file names or filters.");
else if (code !== 0 && failed === 0) console.error("vitest failed outside of any test (see above).");
for (const file of brokenFiles)
  console.error(`${path.relative(root, file.name)} failed outside of any test (see above).`);

console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
if (code !== 0) process.exit(code);
process.exit(failed > 0 || passed + failed === 0 ? 1 : 0);

// Ctrl-C also reaches vitest, which ends; the handlers only keep this process alive until the servers are stopped.
async function runWithServers(command, commandArgs) {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  let servers;
  try {
    servers = await startServers();
  } catch (error) {
    console.error(error.message);
    return 1;
  }
  try {
    return run(command, commandArgs, { env: { ...process.env, ...servers.env } });
  } finally {
    servers.stop();
  }
}

// A file that cannot be loaded, or whose hooks fail, counts as one failure: its tests may not have run at all.
function isBroken(file) {
  return file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed");
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
