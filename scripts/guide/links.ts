// Finds broken links of a page: files that do not exist, headings that were renamed.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

const LINK = /\]\(([^()\s]+)\)/g;

export function brokenLinks(file: string): string[] {
  const text = withoutCode(readFileSync(file, "utf8"));
  return [...text.matchAll(LINK)]
    .map(([, target]) => target as string)
    .filter((target) => !leadsSomewhere(file, target));
}

function leadsSomewhere(file: string, target: string): boolean {
  if (/^https?:/.test(target)) return true;
  const [relative = "", anchor] = target.split("#");
  const linked = relative === "" ? file : path.resolve(path.dirname(file), relative);
  if (!existsSync(linked)) return false;
  return anchor === undefined || (linked.endsWith(".md") && anchorsOf(readFileSync(linked, "utf8")).includes(anchor));
}

/** As GitHub makes them: lower case, hyphens for spaces, other punctuation removed. */
export function anchorsOf(markdown: string): string[] {
  const headings = [...withoutCode(markdown).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => heading as string);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-"),
  );
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```$/gm, "");
}
