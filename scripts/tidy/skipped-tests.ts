// A focused test hides all others, so it is never allowed. A skipped test needs its reason on the line before: // skip:
// …
import {
  type Finding,
  isCodeFile,
  isNode,
  isTestFile,
  nameOf,
  type ParsedSource,
  parseSource,
  propertyOf,
  type Source,
  type SyntaxNode,
  walk,
} from "./source.ts";

const TEST_FUNCTIONS = ["test", "it", "describe", "suite", "bench"];
const SKIPS = ["skip", "todo", "skipIf", "runIf"];
/** Names for the context of a test, which can skip the test from inside. */
const TEST_CONTEXTS = ["context", "ctx", "t"];

interface Use {
  readonly name: string;
  /** Where the whole expression begins, so that a comment above a multi-line chain counts. */
  readonly start: number;
}

export function checkSkippedTests(source: Source): Finding[] {
  if (!isCodeFile(source.path) || !mentionsTests(source)) return [];
  const parsed = parseSource(source);
  const findings: Finding[] = [];
  walk(parsed.program, (node) => {
    for (const use of usesOf(node, isTestFile(source.path))) {
      const line = parsed.lineAt(use.start);
      const message = judge(parsed, use, line);
      if (message !== undefined) findings.push({ path: source.path, line, message });
    }
  });
  return findings;
}

function judge(parsed: ParsedSource, use: Use, line: number): string | undefined {
  if (use.name === "only") return ".only hides every other test; remove it";
  const explained = parsed.comments.some((comment) => comment.endLine === line - 1 && /^skip:\s*\S/.test(comment.text));
  return explained ? undefined : `${use.name} needs its reason in a comment on the line before: // skip: reason`;
}

function usesOf(node: SyntaxNode, inTest: boolean): Use[] {
  if (node.type === "MemberExpression") {
    const name = propertyOf(node);
    const root = rootOf(node);
    if (name === undefined || root === undefined || !(name === "only" || SKIPS.includes(name))) return [];
    const roots = inTest && name === "skip" ? [...TEST_FUNCTIONS, ...TEST_CONTEXTS] : TEST_FUNCTIONS;
    return roots.includes(root) ? [{ name: name === "only" ? "only" : `.${name}`, start: node.start }] : [];
  }
  return node.type === "CallExpression" ? usesInOptions(node) : [];
}

/** `test("…", { skip: true }, …)` */
function usesInOptions(call: SyntaxNode): Use[] {
  const root = isNode(call.callee) ? rootOf(call.callee) : undefined;
  if (root === undefined || !TEST_FUNCTIONS.includes(root) || !Array.isArray(call.arguments)) return [];
  return call.arguments
    .filter((argument: SyntaxNode) => argument.type === "ObjectExpression")
    .flatMap((options: SyntaxNode) => (Array.isArray(options.properties) ? options.properties : []))
    .map((property: SyntaxNode) => nameOf(property.key) ?? "")
    .filter((name: string) => ["only", "skip", "todo"].includes(name))
    .map((name: string) => ({ name, start: call.start }));
}

/** The first name of a chain: `test` of `test.concurrent.skip.each([])`. */
function rootOf(node: SyntaxNode): string | undefined {
  let current: unknown = node;
  while (isNode(current)) {
    if (current.type === "MemberExpression") current = current.object;
    else if (current.type === "CallExpression") current = current.callee;
    else if (current.type === "TaggedTemplateExpression") current = current.tag;
    else return nameOf(current);
  }
  return undefined;
}

function mentionsTests(source: Source): boolean {
  return isTestFile(source.path) || source.text.includes('"vitest"');
}
