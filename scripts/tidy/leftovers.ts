// Things that belong to one machine or to an unfinished change, and must not stay in the repository.
import { type Finding, isCodeFile, type Source } from "./source.ts";

/** This rule and its test have to spell out what they look for. */
const EXEMPT = ["scripts/tidy/leftovers.ts", "scripts/tidy/leftovers.test.ts"];

const UNFINISHED = /\b(?:TODO|FIXME|XXX)\b/;
const MACHINE_PATH = /(?<![\w.:/-])(?:\/(?:home|Users|root)\/[\w.-]+|[A-Z]:\\{1,2}Users\\)/;
const DOWNLOAD_ADDRESS = /"resolved":\s*"(?:https?:|file:\/|git\+)/;
const REGISTRY_SETTING = /^\s*(?:@[\w-]+:)?registry\s*=/;

interface Leftover {
  readonly pattern: RegExp;
  readonly appliesTo: (path: string) => boolean;
  readonly message: string;
}

const LEFTOVERS: readonly Leftover[] = [
  {
    pattern: UNFINISHED,
    appliesTo: (path) => isCodeFile(path) || /\.(?:sql|ya?ml|proto|sh|css|html)$/.test(path),
    message: "a note about unfinished work; finish it, or write it down outside the source",
  },
  {
    pattern: MACHINE_PATH,
    appliesTo: () => true,
    message: "a path of one machine; make it relative to the repository",
  },
  {
    pattern: DOWNLOAD_ADDRESS,
    appliesTo: (path) => path.endsWith("package-lock.json"),
    message: "a download address; run npm install with omit-lockfile-registry-resolved=true (see .npmrc)",
  },
  {
    pattern: REGISTRY_SETTING,
    appliesTo: (path) => path.endsWith(".npmrc"),
    message: "a registry of one machine; keep it in your own npm configuration",
  },
];

export function checkLeftovers(source: Source): Finding[] {
  if (EXEMPT.includes(source.path)) return [];
  const leftovers = LEFTOVERS.filter(({ appliesTo }) => appliesTo(source.path));
  return source.text
    .split("\n")
    .flatMap((text, index) =>
      leftovers
        .filter(({ pattern }) => pattern.test(text))
        .map(({ message }) => ({ path: source.path, line: index + 1, message })),
    );
}
