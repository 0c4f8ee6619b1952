// Files have at most 400 lines, functions at most 70. An entry point, which is a list of names and nothing else, may be longer: a part of
// such a list is no easier to read than the whole. Larger ones are listed in exceptions.json with their exact size;
// they may shrink, never grow, so the list only gets shorter. Tests are exempt from both limits.
import {
  type Finding,
  isCodeFile,
  isNode,
  isTestFile,
  nameOf,
  parseSource,
  type Source,
  type SyntaxNode,
  walk,
} from "./source.ts";

export const FILE_LINES_MAX = 400;
export const FUNCTION_LINES_MAX = 70;

/** Lines by `path` for a file, or by `path#name` for a function. */
export type SizeExceptions = Readonly<Record<string, number>>;

interface Measure {
  readonly key: string;
  readonly what: string;
  readonly line: number;
  readonly lines: number;
  readonly linesMax: number;
}

export function checkSizes(source: Source, exceptions: SizeExceptions): Finding[] {
  if (!isCodeFile(source.path) || isTestFile(source.path)) return [];
  const measures = [...(isListOfNames(source) ? [] : [measureFile(source)]), ...measureFunctions(source)];
  return measures.flatMap((measure) => {
    const message = judge(measure, exceptions[measure.key]);
    return message === undefined ? [] : [{ path: source.path, line: measure.line, message }];
  });
}

/** Exceptions for files and functions that no longer exist. */
export function checkSizeExceptions(sources: readonly Source[], exceptions: SizeExceptions): Finding[] {
  return Object.keys(exceptions).flatMap((key) => {
    const source = sources.find(({ path }) => path === key.split("#")[0]);
    const measured = source !== undefined && isCodeFile(source.path) && !isTestFile(source.path);
    const keys = measured ? [source.path, ...measureFunctions(source).map((measure) => measure.key)] : [];
    if (keys.includes(key)) return [];
    const message = `"${key}" does not exist any more; remove it`;
    return [{ path: "scripts/tidy/exceptions.json", line: 1, message }];
  });
}

function judge({ key, what, lines, linesMax }: Measure, exception: number | undefined): string | undefined {
  if (exception === undefined) {
    return lines <= linesMax ? undefined : `${what} has ${lines} lines, at most ${linesMax} are allowed; split it`;
  }
  if (lines > exception)
    return `${what} grew from ${exception} to ${lines} lines; split it, the exception only shrinks`;
  if (lines <= linesMax)
    return `${what} has only ${lines} lines now; remove "${key}" from scripts/tidy/exceptions.json`;
  if (lines === exception) return undefined;
  return `${what} shrank from ${exception} to ${lines} lines; lower it: "${key}": ${lines} in scripts/tidy/exceptions.json`;
}

function measureFile({ path, text }: Source): Measure {
  const lines = text.replace(/\n$/, "").split("\n").length;
  return { key: path, what: "the file", line: 1, lines, linesMax: FILE_LINES_MAX };
}

/** Nothing but `export … from`. */
function isListOfNames(source: Source): boolean {
  const { body } = parseSource(source).program as { body?: readonly (SyntaxNode & { source?: unknown })[] };
  return body?.every(({ type, source: from }) => type === "ExportNamedDeclaration" && Boolean(from)) === true;
}

function measureFunctions(source: Source): Measure[] {
  const parsed = parseSource(source);
  const largest = new Map<string, Measure>();
  walk(parsed.program, (node, ancestors) => {
    if (!isFunction(node)) return;
    const line = parsed.lineAt(node.start);
    const lines = parsed.lineAt(node.end) - line + 1;
    const name = functionName(node, ancestors);
    const key = `${source.path}#${name}`;
    if (lines <= (largest.get(key)?.lines ?? 0)) return;
    largest.set(key, { key, what: `the function ${name}`, line, lines, linesMax: FUNCTION_LINES_MAX });
  });
  return [...largest.values()];
}

function isFunction(node: SyntaxNode): boolean {
  if (!isNode(node.body)) return false;
  return ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"].includes(node.type);
}

/**
 * A name that stays the same when lines move: `Class.method`, `variable`, or `outer.callback` for anonymous functions.
 */
function functionName(node: SyntaxNode, ancestors: readonly SyntaxNode[]): string {
  const names = ancestors.flatMap((ancestor, index) => nameGivenBy(ancestor, ancestors[index + 1] ?? node));
  const own = nameOf(node.id);
  if (own !== undefined) return [...names, own].join(".");
  const parent = ancestors.at(-1);
  const named = parent !== undefined && nameGivenBy(parent, node).length > 0;
  return [...names, ...(named ? [] : ["callback"])].join(".");
}

function nameGivenBy(node: SyntaxNode, child: SyntaxNode): string[] {
  const holdsChild = node.value === child || node.init === child || node.right === child;
  const target = node.key ?? node.id ?? node.left;
  const scope = node.type === "ClassDeclaration" || node.type === "ClassExpression" || isFunction(node);
  const name = scope ? nameOf(node.id) : holdsChild ? (nameOf(target) ?? memberName(target)) : undefined;
  return name === undefined ? [] : [name];
}

function memberName(node: unknown): string | undefined {
  return isNode(node) && node.type === "MemberExpression" ? nameOf(node.property) : undefined;
}
