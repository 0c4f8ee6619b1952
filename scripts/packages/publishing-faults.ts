// publint and arethetypeswrong: whether a package, read from its tarball, works for its importers.
import { readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData, type Problem } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

/** The packages are ES modules with entry points; importers that support neither are not served. */
function isServed(problem: Problem): boolean {
  if (!("resolutionKind" in problem)) return true;
  return problem.resolutionKind !== "node10" && problem.resolutionKind !== "node16-cjs";
}

export async function findPublishingFaults(tarball: string): Promise<string[]> {
  const bytes = new Uint8Array(readFileSync(tarball));
  const linted = await publint({ pack: { tarball: bytes.buffer }, strict: true });
  const checked = await checkPackage(createPackageFromTarballData(bytes));
  const problems = checked.types === false ? ["no types"] : checked.problems.filter(isServed).map(describe);
  return [
    ...linted.messages.map((message) => `publint: ${formatMessage(message, linted.pkg) ?? message.code}`),
    ...problems.map((problem) => `arethetypeswrong: ${problem}`),
  ];
}

function describe(problem: Problem): string {
  const { kind, ...where } = problem;
  return `${kind} ${JSON.stringify(where)}`;
}
