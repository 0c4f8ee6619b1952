// Time and randomness come from the clock and random ports, so that a simulator can drive everything. This rule finds
// the ways around the ports in packages/*/src (and in packages/*/test, where a sleep makes a test slow and unreliable).
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
} from "./source.ts";

/**
 * The files that implement the ports with the real clock and real randomness, the salt of encryption, and the world around the
 * command line.
 */
const REAL_SOURCES: readonly string[] = [
  "packages/holdfast/src/system/clock.ts",
  "packages/holdfast/src/testing/virtual-clock.ts",
  "packages/holdfast/src/system/random.ts",
  "packages/holdfast/src/codec/salt.ts",
  "packages/cli/src/io/process-io.ts",
];

const CLOCK = "take the time from the clock port";
const TIMER = "wait on the clock port";
const RANDOM = "take it from the random port";

/** Members of well-known objects. */
const MEMBERS = new Map([
  ["Date.now", CLOCK],
  ["performance.now", CLOCK],
  ["performance.timeOrigin", CLOCK],
  ["process.hrtime", CLOCK],
  ["process.nextTick", TIMER],
  ["Math.random", RANDOM],
  ["AbortSignal.timeout", TIMER],
  ["Atomics.wait", TIMER],
  ["Atomics.waitAsync", TIMER],
]);

/** Global functions, and functions of node:crypto on any object. */
const TIMER_FUNCTIONS = ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"];
const RANDOM_FUNCTIONS = [
  "randomUUID",
  "randomBytes",
  "randomInt",
  "randomFill",
  "randomFillSync",
  "getRandomValues",
  "webcrypto",
];

const TIMER_MODULES = ["node:timers", "node:timers/promises", "timers", "timers/promises"];
const GLOBAL_OBJECTS = ["globalThis", "global", "window", "self"];

interface Use {
  readonly name: string;
  readonly advice: string;
}

export function checkDeterminism(source: Source): Finding[] {
  if (!/^packages\/[^/]+\/(?:src|test)\//.test(source.path) || !isCodeFile(source.path)) return [];
  if (REAL_SOURCES.includes(source.path)) return [];
  const parsed = parseSource(source);
  const findings = new Map<string, Finding>();
  const report = (line: number, use: Use): void => {
    if (isTestFile(source.path) && isAllowedByComment(parsed, line)) return;
    const wayOut = isTestFile(source.path) ? ", or give a reason in a comment: // tidy-allow: reason" : "";
    const message = `${use.name} makes runs impossible to simulate; ${use.advice}${wayOut}`;
    findings.set(`${line} ${use.name}`, { path: source.path, line, message });
  };
  for (const imported of parsed.imports) {
    if (!TIMER_MODULES.includes(imported.specifier)) continue;
    report(imported.line, { name: `"${imported.specifier}"`, advice: TIMER });
  }
  walkValues(parsed.program, (node, parent) => {
    for (const use of usesOf(node, parent)) report(parsed.lineAt(node.start), use);
  });
  return [...findings.values()];
}

/** Visits every node except types: `ReturnType<typeof setTimeout>` names a timer but starts none. */
function walkValues(node: SyntaxNode, visit: (node: SyntaxNode, parent: SyntaxNode | undefined) => void): void {
  const step = (current: SyntaxNode, parent: SyntaxNode | undefined): void => {
    if (current.type === "TSTypeQuery" || current.type === "TSTypeAnnotation") return;
    visit(current, parent);
    for (const child of Object.values(current).flat()) if (isNode(child)) step(child, current);
  };
  step(node, undefined);
}

function usesOf(node: SyntaxNode, parent: SyntaxNode | undefined): Use[] {
  switch (node.type) {
    case "MemberExpression":
      return usesOfMember(globalNameOf(node.object), propertyOf(node));
    case "VariableDeclarator":
      return usesOfPattern(node);
    case "NewExpression":
      return globalNameOf(node.callee) === "Date" && isEmpty(node.arguments)
        ? [{ name: "new Date() without arguments", advice: CLOCK }]
        : [];
    case "CallExpression":
      return globalNameOf(node.callee) === "Date" ? [{ name: "Date()", advice: CLOCK }] : [];
    case "Identifier":
      return isReference(node, parent) ? usesOfName(node.name as string) : [];
    default:
      return [];
  }
}

function usesOfMember(object: string | undefined, property: string | undefined): Use[] {
  if (property === undefined) return [];
  if (object !== undefined && GLOBAL_OBJECTS.includes(object)) return usesOfName(property);
  if (RANDOM_FUNCTIONS.includes(property)) return usesOfName(property);
  const name = `${object}.${property}`;
  const advice = MEMBERS.get(name);
  return advice === undefined ? [] : [{ name, advice }];
}

/** `const { now } = Date` takes the member without a dot. */
function usesOfPattern(declarator: SyntaxNode): Use[] {
  const pattern = declarator.id;
  if (!isNode(pattern) || pattern.type !== "ObjectPattern" || !Array.isArray(pattern.properties)) return [];
  const object = globalNameOf(declarator.init);
  return pattern.properties.flatMap((property: SyntaxNode) => usesOfMember(object, nameOf(property.key)));
}

function usesOfName(name: string): Use[] {
  if (TIMER_FUNCTIONS.includes(name)) return [{ name, advice: TIMER }];
  if (RANDOM_FUNCTIONS.includes(name)) return [{ name, advice: RANDOM }];
  return [];
}

/** False for names after a dot and for keys of objects and classes: `clock.setTimeout` is another object's method. */
function isReference(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (parent === undefined || parent.computed === true) return true;
  if (parent.type === "MemberExpression") return parent.property !== node;
  if (parent.type === "Property") return parent.shorthand === true || parent.key !== node;
  return parent.key !== node;
}

/** `Date` for both `Date` and `globalThis.Date`. */
function globalNameOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === "Identifier") return node.name as string;
  if (node.type !== "MemberExpression") return undefined;
  const object = nameOf(node.object);
  return object !== undefined && GLOBAL_OBJECTS.includes(object) ? propertyOf(node) : undefined;
}

function isAllowedByComment(parsed: ParsedSource, line: number): boolean {
  return parsed.comments.some(
    (comment) => (comment.endLine === line || comment.endLine === line - 1) && /^tidy-allow:\s*\S/.test(comment.text),
  );
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
