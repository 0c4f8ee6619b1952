// The pages as they are published. Built anew when a source is newer than what is there.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmdirSync, statSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const SOURCES = fileURLToPath(new URL("..", import.meta.url));
const BUILT = path.join(SOURCES, "..", "dist", "ui");
const SHARED = ["api", "filter"].map((name) => path.join(SOURCES, "..", "src", name));
const LOCK = path.join(SOURCES, "..", "node_modules", ".building-pages");
/** A build takes a few seconds; a lock this old is what a killed test left. */
const LOCK_OLD_MS = 60_000;

/** The folder with the built pages. */
export async function builtPages(): Promise<string> {
  await locked(() => {
    const built = newestIn(BUILT);
    const source = Math.max(...[SOURCES, ...SHARED].map(newestIn));
    if (built >= source) return;
    execFileSync("npx", ["vite", "build", SOURCES, "--logLevel", "error"], {
      cwd: path.join(SOURCES, "..", "..", ".."),
      stdio: "pipe",
      // Of the tests it would be "test", and React would be the one for development.
      env: { ...process.env, NODE_ENV: "production" },
    });
  });
  return BUILT;
}

/** Test files run in several processes; one of them builds. */
async function locked(work: () => void): Promise<void> {
  mkdirSync(path.dirname(LOCK), { recursive: true });
  for (;;) {
    try {
      mkdirSync(LOCK);
      break;
    } catch {
      const since = statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? 0;
      if (since !== 0 && Date.now() - since > LOCK_OLD_MS) rmdirSync(LOCK);
      else await pause(100);
    }
  }
  try {
    work();
  } finally {
    rmdirSync(LOCK);
  }
}

function newestIn(folder: string): number {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return 0;
  const times = readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" || entry.name === "browser" ? 0 : newestIn(file);
    return /\.(?:tsx?|css|html|svg|js|json)$/.test(entry.name) && !entry.name.endsWith(".test.ts")
      ? statSync(file).mtimeMs
      : 0;
  });
  return Math.max(0, ...times);
}
