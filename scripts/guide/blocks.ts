// Reads the code blocks of a guide page. The words after the language mean:
//   ts                    a whole program: it is compiled and executed, and prints what the text block after it shows
//   ts file=order.ts      the same under a name, so that later blocks of the page can import "./order.ts"
//   ts fragment           compiled, not executed: it would run forever, or needs a server
// A block that imports vitest is a test file. A program without a text block after it prints nothing.

export interface Block {
  /** Name of the page, without ".md". */
  readonly page: string;
  /** Line of the page on which the code begins, counted from 1. */
  readonly line: number;
  readonly kind: "program" | "test" | "fragment";
  /** Name of its file in the folder of the page. */
  readonly file: string;
  readonly code: string;
  /** Its expected output. */
  readonly output: string;
}

interface Fence {
  readonly info: string;
  readonly line: number;
  readonly body: string;
}

const FENCE = /^```(.*)$/;
const INFO = /^ts(?: (?:(fragment)|file=([a-z0-9-]+(?:\.test)?\.ts)))?$/;

export function readBlocks(page: string, markdown: string): Block[] {
  const fences = readFences(page, markdown);
  return fences.flatMap((fence, index) => {
    if (fence.info !== "ts" && !fence.info.startsWith("ts ")) return [];
    const [match, fragment, name] = INFO.exec(fence.info) ?? [];
    if (match === undefined) throw new Error(`${page}.md:${fence.line - 1}: unknown block \`\`\`${fence.info}`);
    const next = fences[index + 1];
    const isTest = /from "vitest";$/m.test(fence.body);
    const kind = fragment ? "fragment" : isTest ? "test" : "program";
    const file = name ?? `line-${fence.line}${isTest ? ".test" : ""}.ts`;
    const output = kind === "program" && next?.info === "text" ? next.body : "";
    return [{ page, line: fence.line, kind, file, code: fence.body, output }];
  });
}

function readFences(page: string, markdown: string): Fence[] {
  const fences: Fence[] = [];
  let open: { readonly info: string; readonly line: number } | undefined;
  let body = "";
  for (const [index, text] of markdown.split("\n").entries()) {
    const info = FENCE.exec(text)?.[1];
    if (open === undefined) {
      if (info === undefined) continue;
      open = { info, line: index + 2 };
      body = "";
    } else if (info === "") {
      fences.push({ ...open, body });
      open = undefined;
    } else body += `${text}\n`;
  }
  if (open) throw new Error(`${page}.md:${open.line - 1}: the code block has no end`);
  return fences;
}
