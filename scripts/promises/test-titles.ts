// The titles of the tests in a file, each with the titles of its groups: `a step › runs once`.
import { isNode, nameOf, parseSource, type Source, type SyntaxNode, walk } from "../tidy/source.ts";

const GROUPS = ["describe", "suite"];
const TESTS = ["test", "it"];

/** Between the title of a group and the title of a test. */
export const TITLE_SEPARATOR = " › ";

export function testTitles(source: Source): string[] {
  const titles: string[] = [];
  walk(parseSource(source).program, (node, ancestors) => {
    titles.push(...caseTitles(node));
    const own = titleOf(node, TESTS, source);
    if (own === undefined) return;
    const groups = ancestors.flatMap((ancestor) => titleOf(ancestor, GROUPS, source) ?? []);
    titles.push([...groups, own].join(TITLE_SEPARATOR));
  });
  return titles;
}

/**
 * The title in `test("title", …)`; titles of `test.each(table)("title", …)` and templates are as written, with
 * placeholders.
 */
function titleOf(node: SyntaxNode, functions: readonly string[], { text }: Source): string | undefined {
  if (node.type !== "CallExpression" || !Array.isArray(node.arguments)) return undefined;
  const [first] = node.arguments as SyntaxNode[];
  const title = first?.type === "TemplateLiteral" ? text.slice(first.start + 1, first.end - 1) : literalOf(first);
  return title !== undefined && functions.includes(rootOf(node.callee) ?? "") ? title : undefined;
}

/** The keys of the cases of a conformance suite, `{ noun: "claims", cases: { "title": … } }`. */
function caseTitles(node: SyntaxNode): string[] {
  const noun = literalOf(propertyOf(node, "noun"));
  const cases = propertyOf(node, "cases");
  if (noun === undefined || cases === undefined) return [];
  return propertiesOf(cases).flatMap(({ key, computed }) => {
    const title = computed === true ? undefined : literalOf(key);
    return title === undefined ? [] : [[noun, title].join(TITLE_SEPARATOR)];
  });
}

function propertiesOf(node: SyntaxNode): SyntaxNode[] {
  if (node.type !== "ObjectExpression" || !Array.isArray(node.properties)) return [];
  return node.properties.filter((property): property is SyntaxNode => isNode(property) && property.type === "Property");
}

function propertyOf(node: SyntaxNode, name: string): SyntaxNode | undefined {
  const value = propertiesOf(node).find(({ key }) => nameOf(key) === name)?.value;
  return isNode(value) ? value : undefined;
}

function literalOf(node: unknown): string | undefined {
  return isNode(node) && node.type === "Literal" ? nameOf(node) : undefined;
}

function rootOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === "MemberExpression") return rootOf(node.object);
  if (node.type === "CallExpression") return rootOf(node.callee);
  return nameOf(node);
}
