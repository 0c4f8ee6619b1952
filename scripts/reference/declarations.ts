// Reads what a package exports, with its doc comments, from the sources. It uses the parser of the tidy rules.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseSync } from "vite";
import { isNode, nameOf, type SyntaxNode } from "../tidy/source.ts";

export interface Doc {
  readonly text: string;
  /** The text after `@defaultValue`. */
  readonly defaultValue: string | undefined;
  readonly internal: boolean;
}

export interface Member {
  readonly name: string;
  readonly doc: Doc;
  readonly optional: boolean;
  /** The type of a property; undefined for a method. */
  readonly type: string | undefined;
  /** The signatures of a method, one per overload. */
  readonly signatures: readonly string[];
}

export interface Declaration {
  readonly name: string;
  readonly kind: "function" | "interface" | "class" | "type" | "const";
  readonly doc: Doc;
  /** The overloads of a function, or the head of a type. */
  readonly signatures: readonly string[];
  readonly members: readonly Member[];
  /** The names of what it extends. */
  readonly parents: readonly string[];
}

interface File {
  readonly text: string;
  readonly body: readonly SyntaxNode[];
  readonly comments: readonly { readonly start: number; readonly end: number; readonly value: string }[];
}

/** Every exported declaration in the files of a package, by name. */
export function readDeclarations(folder: string): ReadonlyMap<string, Declaration> {
  const found = new Map<string, Declaration>();
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts") || name.endsWith(".test.ts")) continue;
    for (const declaration of declarationsIn(parse(path.join(folder, name)))) found.set(declaration.name, declaration);
  }
  return found;
}

/** The names that an entry point exports, in its order. */
export function exportedNames(entry: string): string[] {
  return parse(entry).body.flatMap((node) => {
    if (node.type !== "ExportNamedDeclaration" || !Array.isArray(node.specifiers)) return [];
    return node.specifiers.map((specifier: SyntaxNode) => nameOf(specifier.exported) ?? "");
  });
}

function parse(file: string): File {
  const text = readFileSync(file, "utf8");
  const { program, comments } = parseSync(file, text);
  return { text, body: program.body as unknown as SyntaxNode[], comments };
}

function declarationsIn(file: File): Declaration[] {
  const found = new Map<string, Declaration>();
  for (const node of file.body) {
    if (node.type !== "ExportNamedDeclaration" || !isNode(node.declaration)) continue;
    const declaration = declarationOf(file, node, node.declaration);
    if (!declaration) continue;
    const before = found.get(declaration.name);
    // The implementation of overloads is not part of the public signature.
    if (before && isImplementation(node.declaration)) continue;
    const signatures = [...(before?.signatures ?? []), ...declaration.signatures];
    found.set(declaration.name, { ...declaration, doc: before?.doc.text ? before.doc : declaration.doc, signatures });
  }
  return [...found.values()];
}

function declarationOf(file: File, outer: SyntaxNode, node: SyntaxNode): Declaration | undefined {
  const doc = docBefore(file, outer.start);
  const name = nameOf(node.id) ?? "";
  const base = { name, doc, members: [], parents: [], signatures: [] };
  switch (node.type) {
    case "FunctionDeclaration":
    case "TSDeclareFunction":
      return { ...base, kind: "function", signatures: [signature(file, node, node)] };
    case "TSInterfaceDeclaration": {
      const { body } = node.body as unknown as { readonly body: SyntaxNode[] };
      const parents = (node.extends as SyntaxNode[]).map((parent) => nameOf(parent.expression) ?? "");
      return { ...base, kind: "interface", members: membersOf(file, body), parents };
    }
    case "ClassDeclaration": {
      const { body } = node.body as unknown as { readonly body: SyntaxNode[] };
      return { ...base, kind: "class", members: membersOf(file, body), parents: [nameOf(node.superClass) ?? ""] };
    }
    case "TSTypeAliasDeclaration":
      return { ...base, kind: "type", signatures: [tidied(file.text.slice(node.start, node.end))] };
    case "VariableDeclaration": {
      const [variable] = node.declarations as SyntaxNode[];
      const id = variable?.id as SyntaxNode;
      const type = isNode(id.typeAnnotation) ? typeText(file, id.typeAnnotation) : "";
      const head = `const ${nameOf(id)}${type ? `: ${type}` : ""}`;
      return { ...base, name: nameOf(id) ?? "", kind: "const", signatures: [head] };
    }
    default:
      return undefined;
  }
}

function membersOf(file: File, nodes: readonly SyntaxNode[]): Member[] {
  const members = new Map<string, Member>();
  for (const node of nodes) {
    const member = memberOf(file, node);
    if (!member || member.doc.internal) continue;
    const before = members.get(member.name);
    if (before && isImplementation(node.value)) continue;
    const doc = before?.doc.text ? before.doc : member.doc;
    members.set(member.name, { ...member, doc, signatures: [...(before?.signatures ?? []), ...member.signatures] });
  }
  return [...members.values()];
}

function memberOf(file: File, node: SyntaxNode): Member | undefined {
  const name = nameOf(node.key);
  const hidden = isNode(node.key) && node.key.type === "PrivateIdentifier";
  if (name === undefined || hidden || node.static === true || node.kind === "constructor") return undefined;
  if (node.accessibility === "protected" || node.accessibility === "private") return undefined;
  const doc = docBefore(file, node.start);
  const property = { name, doc, optional: node.optional === true, signatures: [] };
  switch (node.type) {
    case "TSPropertySignature":
    case "PropertyDefinition":
      return { ...property, type: isNode(node.typeAnnotation) ? typeText(file, node.typeAnnotation) : "unknown" };
    case "TSMethodSignature":
      return { ...property, type: undefined, signatures: [signature(file, node, node)] };
    case "MethodDefinition": {
      const fn = node.value as SyntaxNode;
      if (node.kind === "get") return { ...property, type: typeText(file, fn.returnType as SyntaxNode) };
      return { ...property, type: undefined, signatures: [signature(file, node, fn)] };
    }
    default:
      return undefined;
  }
}

/**
 * The head of a function: name, type parameters, parameters, result. Parameters with defaults are shown as optional.
 */
function signature(file: File, node: SyntaxNode, fn: SyntaxNode): string {
  const params = (fn.params as SyntaxNode[]).map((param) => parameter(file, param));
  const generics = isNode(fn.typeParameters) ? file.text.slice(fn.typeParameters.start, fn.typeParameters.end) : "";
  const result = isNode(fn.returnType) ? typeText(file, fn.returnType) : "void";
  return tidied(`${nameOf(node.key ?? node.id)}${generics}(${params.join(", ")}): ${result}`);
}

function parameter(file: File, param: SyntaxNode): string {
  if (param.type !== "AssignmentPattern") return file.text.slice(param.start, param.end);
  const left = param.left as SyntaxNode;
  const given = (param.right as SyntaxNode).value;
  const type = isNode(left.typeAnnotation) ? typeText(file, left.typeAnnotation) : typeof given;
  return `${nameOf(left)}?: ${type}`;
}

function typeText(file: File, annotation: SyntaxNode): string {
  const type = annotation.typeAnnotation as SyntaxNode;
  return tidied(file.text.slice(type.start, type.end));
}

/** On one line, and without what only helps the compiler: the types of duration texts, and overload selection. */
function tidied(text: string): string {
  return text
    .replace(/\/\*\*[\s\S]*?\*\/|\/\/[^\n]*/g, " ")
    .replace(/\s+/g, " ")
    .replace(/([(<[]) /g, "$1")
    .replace(/,? ([)>\]])/g, "$1")
    .replace(/\breadonly (?=\w+\??:)/g, "")
    .replace(/^type (\w+)(.*?) = \| /, "type $1$2 = ")
    .replace(/CheckedDuration<S>/g, "Duration")
    .replace(/(?:, )?S extends string = string/g, "")
    .replace(/<>/g, "")
    .replace(/, S>/g, ">")
    .replace(/<S>/g, "")
    .trim();
}

function isImplementation(node: unknown): boolean {
  return isNode(node) && (node.type === "FunctionDeclaration" || node.type === "FunctionExpression");
}

/** The doc comment may be followed by linter comments. */
function docBefore(file: File, start: number): Doc {
  const comment = file.comments.findLast(
    ({ value, end }) => value.startsWith("*") && end <= start && /^(?:\s|\/\/.*\n)*$/.test(file.text.slice(end, start)),
  );
  const text = comment?.value.replace(/^\s*\*\s?/gm, "").trim() ?? "";
  const [about = "", ...tags] = text.split(/^@/m);
  const defaultValue = tags.find((tag) => tag.startsWith("defaultValue "))?.slice("defaultValue ".length);
  const internal = tags.some((tag) => tag.startsWith("internal"));
  return { text: flowing(about), defaultValue: defaultValue && flowing(defaultValue), internal };
}

/** Joins the lines of a paragraph, or of a list item, into one line. */
function flowing(text: string): string {
  return text.trim().replace(/\n(?![-\n])/g, " ");
}
