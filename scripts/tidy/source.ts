// What every tidy rule works on: a file as text, parsed once when a rule needs its syntax tree. The parser is the one
// in vite, because TypeScript 7 has no compiler API.
import { parseSync } from "vite";

export interface Source {
  /** Relative to the repository root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface Finding {
  readonly path: string;
  readonly line: number;
  /** What is wrong and what to do about it. */
  readonly message: string;
}

/** A rule is a pure function from a file to what is wrong with it. */
export type Rule = (source: Source) => Finding[];

/** A node of the ESTree syntax tree; rules read the fields that its type is known to have. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Comment {
  /** The text after the slashes, or between the stars, without surrounding white space. */
  readonly text: string;
  readonly line: number;
  readonly endLine: number;
}

export interface ImportedModule {
  readonly specifier: string;
  readonly line: number;
  /** True for `await import("x")`; false for every import and re-export that is resolved before the module runs. */
  readonly dynamic: boolean;
  readonly typeOnly: boolean;
  /** The names that are imported as values: `createHash`, or `*` for a namespace. */
  readonly values: readonly string[];
}

export interface ParsedSource extends Source {
  readonly program: SyntaxNode;
  readonly comments: readonly Comment[];
  readonly imports: readonly ImportedModule[];
  lineAt(offset: number): number;
}

const parsed = new WeakMap<Source, ParsedSource>();

export function parseSource(source: Source): ParsedSource {
  const known = parsed.get(source);
  if (known) return known;
  const result = parseSync(source.path, source.text);
  const error = result.errors[0];
  if (error) throw new Error(`${source.path}: cannot be parsed: ${error.message}`);
  const lineAt = lineIndex(source.text);
  const program = result.program as unknown as SyntaxNode;
  const comments = result.comments.map((comment) => ({
    text: comment.value.trim(),
    line: lineAt(comment.start),
    endLine: lineAt(comment.end),
  }));
  const fresh: ParsedSource = { ...source, program, comments, imports: importsOf(program, lineAt), lineAt };
  parsed.set(source, fresh);
  return fresh;
}

/** Visits a node and everything below it, parents first; `ancestors` ends with the node's parent. */
export function walk(node: SyntaxNode, visit: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => void): void {
  const ancestors: SyntaxNode[] = [];
  const step = (current: SyntaxNode): void => {
    visit(current, ancestors);
    ancestors.push(current);
    for (const child of childrenOf(current)) step(child);
    ancestors.pop();
  };
  step(node);
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && typeof (value as SyntaxNode).type === "string";
}

/** The name of an identifier, or the text of a string literal; undefined for any other node. */
export function nameOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === "Identifier" || node.type === "PrivateIdentifier") return node.name as string;
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  return undefined;
}

/** The name after the dot of `object.name`, or in `object["name"]`. */
export function propertyOf(member: SyntaxNode): string | undefined {
  const isLiteral = isNode(member.property) && member.property.type === "Literal";
  return member.computed === true && !isLiteral ? undefined : nameOf(member.property);
}

/** True for files that only tests load. */
export function isTestFile(path: string): boolean {
  return /\.test\.tsx?$/.test(path) || /^packages\/[^/]+\/test\//.test(path);
}

export function isCodeFile(path: string): boolean {
  return /\.(?:ts|tsx|mts|mjs|js)$/.test(path) && !path.endsWith(".d.ts");
}

export function formatFinding(finding: Finding): string {
  return `${finding.path}:${finding.line}: ${finding.message}`;
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  return Object.values(node).flat().filter(isNode);
}

function importsOf(program: SyntaxNode, lineAt: (offset: number) => number): ImportedModule[] {
  const imports: ImportedModule[] = [];
  walk(program, (node) => {
    const from = moduleNamedBy(node);
    if (!from || typeof from.value !== "string") return;
    imports.push({
      specifier: from.value,
      line: lineAt(from.start),
      dynamic: node.type === "ImportExpression",
      typeOnly: node.type === "TSImportType" || node.importKind === "type" || node.exportKind === "type",
      values: valuesOf(node),
    });
  });
  return imports;
}

function moduleNamedBy(node: SyntaxNode): SyntaxNode | undefined {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
    case "ImportExpression":
    case "TSImportType":
      return isNode(node.source) ? node.source : undefined;
    default:
      return undefined;
  }
}

function valuesOf(node: SyntaxNode): string[] {
  if (node.type === "ExportAllDeclaration" || node.type === "ImportExpression") return ["*"];
  if (node.importKind === "type" || node.exportKind === "type" || !Array.isArray(node.specifiers)) return [];
  return node.specifiers
    .filter((specifier: SyntaxNode) => specifier.importKind !== "type" && specifier.exportKind !== "type")
    .map((specifier: SyntaxNode) => {
      if (specifier.type === "ImportDefaultSpecifier") return "default";
      if (specifier.type === "ImportNamespaceSpecifier") return "*";
      return nameOf(specifier.imported ?? specifier.local) ?? "*";
    });
}

function lineIndex(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}
