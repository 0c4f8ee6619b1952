// A file is named for the noun it exports, in kebab-case. Names that fit any content say nothing and attract
// everything.
import { type Finding, isCodeFile, type Source } from "./source.ts";

const EMPTY_NAMES = ["util", "utils", "helper", "helpers", "common", "types", "manager"];
const KEBAB_CASE = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export function checkFileNames({ path }: Source): Finding[] {
  if (!isCodeFile(path) && !path.endsWith(".sql")) return [];
  const words = path.split("/").map((part, index, parts) => (index === parts.length - 1 ? part.split(".") : [part]));
  const findings: Finding[] = [];
  for (const name of words.flat()) {
    if (!KEBAB_CASE.test(name)) findings.push({ path, line: 1, message: `"${name}" is not kebab-case; rename it` });
    const lastWord = name.split("-").at(-1) ?? "";
    if (!EMPTY_NAMES.includes(lastWord)) continue;
    findings.push({
      path,
      line: 1,
      message: `"${name}" says nothing about its content; name it for the noun it exports`,
    });
  }
  return findings;
}
