/** The built pages: `dist/ui`, read once, and compressed once. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { acceptsZip } from "./json-answer.ts";

const FOLDER = new URL("../../dist/ui/", import.meta.url);
const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  woff2: "font/woff2",
};
const MISSING =
  "<!doctype html><title>Holdfast</title><h1>The pages are not built</h1><p>Run <code>npm run build</code>, or install the published package.";

interface PageFile {
  readonly bytes: Uint8Array;
  readonly zipped: Uint8Array;
  readonly type: string;
}

let files: ReadonlyMap<string, PageFile> | undefined;

function load(): ReadonlyMap<string, PageFile> {
  const found = new Map<string, PageFile>();
  const folder = fileURLToPath(FOLDER);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const place = `${entry.parentPath ?? entry.path}/${entry.name}`;
    const name = place.slice(folder.length).replace(/^\/+/, "");
    const type = TYPES[name.split(".").pop() ?? ""];
    if (type === undefined || name.startsWith(".")) continue;
    const bytes = readFileSync(place);
    found.set(name, { bytes, zipped: gzipSync(bytes), type });
  }
  return found;
}

function pageFiles(): ReadonlyMap<string, PageFile> {
  if (files) return files;
  try {
    const found = load();
    if (found.has("index.html")) files = found;
    return found;
  } catch {
    return new Map(); // not built
  }
}

/** A file by its name below the base; undefined if there is none. */
export function fileAnswer(request: Request, name: string): Response | undefined {
  const file = name === "index.html" ? undefined : pageFiles().get(name);
  if (!file) return undefined;
  const zip = acceptsZip(request);
  return new Response(new Uint8Array(zip ? file.zipped : file.bytes), {
    headers: {
      "content-type": file.type,
      // The names of what is built change with their contents.
      "cache-control": name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "public, max-age=3600",
      vary: "accept-encoding",
      ...(zip ? { "content-encoding": "gzip" } : {}),
    },
  });
}

/** The page, whatever the path: the path is for the script. `base` ends with a slash. */
export function pageAnswer(base: string): Response {
  const index = pageFiles().get("index.html");
  const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" };
  if (!index) return new Response(MISSING, { status: 503, headers });
  const html = new TextDecoder().decode(index.bytes);
  const made = html.replace(/<head([^>]*)>/, (head) => `${head}<base href="${attribute(base)}">`);
  return new Response(made, { headers });
}

function attribute(text: string): string {
  return text.replace(/[&"<>]/g, (one) => `&#${one.charCodeAt(0)};`);
}
