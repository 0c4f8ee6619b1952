// Every type that a public declaration mentions can be imported by its name from one of the package's entry points.
// Users cannot write down a type that has no name: not as a parameter of their own functions, and not in the
// declarations that the compiler writes for their packages.
//
// This reads the emitted .d.ts files, because those are what users have. It expects entry points that are lists of
// names. Users never construct or extend a class that is exported only as a type, so types mentioned by its
// constructor, its static and its protected members do not count. Nor do the inputs of computed types, as long as they
// cannot appear in the result: what a conditional type compares, what a private computation accepts, what is indexed.
import path from "node:path";
import { isNode, nameOf, parseSource, type Source, type SyntaxNode } from "../tidy/source.ts";

export interface TypeNamesParams {
  /** All declaration files of a package. */
  readonly files: readonly Source[];
  /** The paths of those that are entry points. */
  readonly entries: readonly string[];
}

/** A name at the top of a file. */
interface Place {
  readonly file: string;
  readonly name: string;
}

interface Module {
  readonly declarations: ReadonlyMap<string, readonly SyntaxNode[]>;
  /** Names that refer to another file of the package. `*` is all of that file. */
  readonly imports: ReadonlyMap<string, Place>;
  readonly exports: ReadonlyMap<string, Place & { readonly typeOnly: boolean }>;
  /** Files whose exports are all re-exported here. */
  readonly stars: readonly string[];
}

/** One sentence for each public declaration and each type that it mentions and that cannot be imported. */
export function findUnnameableTypes({ files, entries }: TypeNamesParams): string[] {
  const modules = new Map(files.map((file) => [file.path, readModule(file)]));
  const published = publishedBy(modules, entries);
  const findings = new Set<string>();
  for (const { file, name, constructible } of published.values()) {
    const visited = new Set<string>();
    const examine = (at: Place, usage: Usage): void => {
      for (const mention of modules.get(at.file)?.declarations.get(at.name)?.flatMap(mentionsOf(usage)) ?? []) {
        const target = locateMention(modules, at.file, mention);
        if (!target || published.has(keyOf(target))) continue;
        const isSeenThrough = mention.isIndexed || isComputation(modules, target);
        const visit = `${keyOf(target)} ${isSeenThrough}`;
        if (visited.has(visit)) continue;
        visited.add(visit);
        if (isSeenThrough) examine(target, { constructible: false, callable: false });
        else findings.add(`${name} mentions ${target.name} (${target.file}), which no entry point exports`);
      }
    };
    examine({ file, name }, { constructible, callable: true });
  }
  return [...findings].sort();
}

type Published = Map<string, Place & { readonly constructible: boolean }>;

function publishedBy(modules: ReadonlyMap<string, Module>, entries: readonly string[]): Published {
  const published: Published = new Map();
  for (const entry of entries) {
    const module = modules.get(entry);
    if (!module) throw new Error(`${entry} is not among the declaration files`);
    if (module.stars.length > 0) throw new Error(`${entry} exports all of ${module.stars[0]}; list the names`);
    for (const { typeOnly, ...place } of module.exports.values()) {
      const target = locate(modules, place);
      if (!target) continue;
      const key = keyOf(target);
      published.set(key, { ...target, constructible: !typeOnly || published.get(key)?.constructible === true });
    }
  }
  return published;
}

function locateMention(modules: ReadonlyMap<string, Module>, file: string, mention: Mention): Place | undefined {
  const { name, from } = mention;
  const place = from === undefined ? file : fileNamedBy(file, from);
  return place === undefined ? undefined : locate(modules, { file: place, name });
}

/** Where a name in a file is declared; undefined for globals and names from other packages. */
function locate(modules: ReadonlyMap<string, Module>, place: Place, seen = new Set<string>()): Place | undefined {
  const module = modules.get(place.file);
  if (!module || seen.has(keyOf(place))) return undefined;
  seen.add(keyOf(place));
  const [first = "", ...rest] = place.name.split(".");
  if (module.declarations.has(first)) return { file: place.file, name: first };
  const imported = module.imports.get(first);
  if (imported) {
    const name = [...(imported.name === "*" ? [] : [imported.name]), ...rest].join(".");
    return locate(modules, { file: imported.file, name }, seen);
  }
  const exported = module.exports.get(first);
  if (exported && exported.file !== place.file) return locate(modules, exported, seen);
  for (const file of module.stars) {
    const found = locate(modules, { file, name: first }, seen);
    if (found) return found;
  }
  return undefined;
}

const COMPUTED: ReadonlySet<string> = new Set([
  "TSConditionalType",
  "TSMappedType",
  "TSTemplateLiteralType",
  "TSIndexedAccessType",
]);

/** A computed type that its file does not export is expanded where it is used. Its parts are checked instead. */
function isComputation(modules: ReadonlyMap<string, Module>, { file, name }: Place): boolean {
  const module = modules.get(file);
  const annotation = module?.declarations.get(name)?.[0]?.typeAnnotation;
  return !module?.exports.has(name) && isNode(annotation) && COMPUTED.has(annotation.type);
}

function keyOf({ file, name }: Place): string {
  return `${file}#${name}`;
}

function readModule(source: Source): Module {
  const declarations = new Map<string, SyntaxNode[]>();
  const imports = new Map<string, Place>();
  const exports = new Map<string, Place & { typeOnly: boolean }>();
  const stars: string[] = [];
  const declare = (node: SyntaxNode, isExported: boolean): void => {
    for (const name of namesDeclaredBy(node)) {
      declarations.set(name, [...(declarations.get(name) ?? []), node]);
      if (isExported) exports.set(name, { file: source.path, name, typeOnly: false });
    }
  };
  for (const node of (parseSource(source).program.body as readonly unknown[]).filter(isNode)) {
    const from = fileNamedBy(source.path, nameOf(node.source));
    if (node.type === "ImportDeclaration") {
      for (const { outer, local } of specifiersOf(node)) if (from) imports.set(local, { file: from, name: outer });
    } else if (node.type === "ExportAllDeclaration") {
      if (from) stars.push(from);
    } else if (node.type === "ExportNamedDeclaration" && isNode(node.declaration)) {
      declare(node.declaration, true);
    } else if (node.type === "ExportNamedDeclaration") {
      if (isNode(node.source) && from === undefined) continue;
      for (const { outer, local, typeOnly } of specifiersOf(node))
        exports.set(outer, { file: from ?? source.path, name: local, typeOnly });
    } else declare(node, false);
  }
  return { declarations, imports, exports, stars };
}

/** The declaration file that a relative import names, with any extension. */
function fileNamedBy(from: string, specifier: string | undefined): string | undefined {
  if (specifier === undefined || !specifier.startsWith(".")) return undefined;
  return path.posix.join(path.posix.dirname(from), specifier).replace(/\.[jt]s$/, ".d.ts");
}

function specifiersOf(node: SyntaxNode): { readonly outer: string; readonly local: string; typeOnly: boolean }[] {
  return (node.specifiers as readonly SyntaxNode[]).map((specifier) => ({
    outer:
      specifier.type === "ImportNamespaceSpecifier" ? "*" : (nameOf(specifier.imported ?? specifier.exported) ?? ""),
    local: nameOf(specifier.local) ?? "",
    typeOnly: node.exportKind === "type" || specifier.exportKind === "type",
  }));
}

function namesDeclaredBy(node: SyntaxNode): string[] {
  if (node.type === "VariableDeclaration") {
    return (node.declarations as readonly SyntaxNode[]).flatMap(({ id }) => nameOf(id) ?? []);
  }
  const name = nameOf(node.id);
  return name === undefined ? [] : [name];
}

interface Mention {
  readonly name: string;
  /** The module of `import("./file.ts").Name`. */
  readonly from?: string;
  /** A member is taken from it, as in `Name["member"]`: users do not hold the whole type. */
  readonly isIndexed: boolean;
}

/** What users can do with a declaration. */
interface Usage {
  readonly constructible: boolean;
  /** Whether they pass type arguments to it: then they need the types that it accepts. */
  readonly callable: boolean;
}

function mentionsOf({ constructible, callable }: Usage): (declaration: SyntaxNode) => Mention[] {
  return (declaration) => {
    const mentions: Mention[] = [];
    const visit = (node: SyntaxNode, isIndexed: boolean): void => {
      // The type of a constant is expanded where it is used, and private members are emitted without types.
      if (node.type === "TSTypeQuery" || node.accessibility === "private") return;
      if (!constructible && isForSubclasses(node)) return;
      const name = typeNamedBy(node);
      const from = node.type === "TSImportType" ? nameOf(node.source) : undefined;
      if (name !== undefined) mentions.push({ name, ...(from === undefined ? {} : { from }), isIndexed });
      for (const [key, value] of Object.entries(node)) {
        if (isOnlyCompared(node, key) || (!callable && node.type === "TSTypeParameter" && key === "constraint"))
          continue;
        for (const child of [value].flat())
          if (isNode(child)) visit(child, node.type === "TSIndexedAccessType" && key === "objectType");
      }
    };
    visit(declaration, false);
    return mentions;
  };
}

/** The two sides of a condition decide the resulting type, but are not part of it. */
function isOnlyCompared(node: SyntaxNode, key: string): boolean {
  return node.type === "TSConditionalType" && (key === "checkType" || key === "extendsType");
}

function isForSubclasses(node: SyntaxNode): boolean {
  return node.kind === "constructor" || node.static === true || node.accessibility === "protected";
}

function typeNamedBy(node: SyntaxNode): string | undefined {
  switch (node.type) {
    case "TSTypeReference":
      return qualifiedName(node.typeName);
    case "TSImportType":
      return qualifiedName(node.qualifier);
    case "TSInterfaceHeritage":
    case "TSClassImplements":
      return qualifiedName(node.expression);
    case "ClassDeclaration":
      return qualifiedName(node.superClass);
    default:
      return undefined;
  }
}

/** `port.Store` for a name in a namespace. */
function qualifiedName(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === "TSQualifiedName") return `${qualifiedName(node.left)}.${nameOf(node.right)}`;
  if (node.type === "MemberExpression") return `${qualifiedName(node.object)}.${nameOf(node.property)}`;
  return nameOf(node);
}
