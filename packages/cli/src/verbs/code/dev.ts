/** `dev`: a store of its own, the server if it is installed, and a worker that is replaced when its code changes. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Call } from "../../command/call.ts";
import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { CommandError, FileFailed, UsageError } from "../../io/failure.ts";
import { DEFAULT_URL, shownUrl } from "../../io/target.ts";
import { version } from "../../version.ts";
import { startDemo } from "./demo-runs.ts";
import { DevWorker } from "./dev-worker.ts";
import { programOf } from "./own-programs.ts";
import { type DevPostgres, startDevPostgres } from "./postgres/dev-postgres.ts";
import { INSTALL_SERVER, openServer, type RunningServer, serverMissing } from "./server-package.ts";
import { drainNote } from "./worker.ts";

export const dev: Action = async (call) => {
  const began = call.io.now();
  const demo = call.flag("demo");
  const files = [...call.words("file"), ...(demo ? [programOf("demo-code")] : [])];
  const missing = files.map((file) => path.resolve(call.io.cwd, file)).find((file) => !existsSync(file));
  if (missing !== undefined)
    throw new CommandError(`There is no file ${missing}.`, {
      code: "file_not_found",
      exitCode: EXIT.notFound,
      data: { file: missing },
    });
  if (files.length === 0 && (await call.io.importPackage("@holdfast/server")) === undefined) throw serverMissing();
  const postgres = call.flag("postgres") ? await openPostgres(call) : undefined;
  try {
    await develop(call, {
      url: postgres?.url ?? call.text("url") ?? devStore(call.io.cwd),
      postgres,
      files,
      demo,
      began,
    });
  } finally {
    await call.close();
    await postgres?.stop();
  }
  call.out.record({ event: "stopped" });
  call.out.line(`${call.out.paint.green("✓")} Stopped. Runs that are open go on the next time.`);
  return EXIT.done;
};

interface Development {
  readonly url: string;
  readonly postgres: DevPostgres | undefined;
  readonly files: readonly string[];
  readonly demo: boolean;
  /** When the command was given. */
  readonly began: number;
}

/** Until Ctrl-C. Everything but PostgreSQL has ended then. */
async function develop(call: Call, { url, postgres, files, demo, began }: Development): Promise<void> {
  const namespace = call.text("namespace") ?? "default";
  // The tables are there before the worker's process and the server need them.
  const opening = call.openAt({ url, namespace, token: undefined, from: "flag" }, { create: "always" });
  // Some steps of the demo take an hour, for which nobody who presses Ctrl-C wants to wait.
  const drainTimeout = demo ? "1s" : undefined;
  const worker = files.length === 0 ? undefined : new DevWorker(call, { url, namespace, files, drainTimeout });
  const { interrupted } = call.io;
  const stopping = new Promise<undefined>((resolve) => {
    if (interrupted.aborted) resolve(undefined);
    interrupted.addEventListener("abort", () => resolve(undefined));
  });
  let server: RunningServer | undefined;
  try {
    const loaded = worker?.load();
    [server] = await Promise.all([openServer(call, url), opening]);
    // Code may take for ever to load.
    const what = await Promise.race([loaded, stopping]);
    if (!interrupted.aborted) {
      if (demo) await startDemo(await opening);
      show(call, { url, urlFile: postgres?.urlFile, server, what, tookMs: call.io.now() - began });
    }
    await stopping;
    call.out.note(call.out.errorPaint.dim(`\n${worker === undefined ? "Draining …" : drainNote(drainTimeout)}`));
  } finally {
    await worker?.stop();
    await server?.close();
  }
}

async function openPostgres(call: Call): Promise<DevPostgres> {
  if (call.text("url") !== undefined)
    throw new UsageError("--postgres starts a server of its own, and --url names another store. Give one of them.");
  if ((await call.io.importPackage("@holdfast/postgres")) === undefined)
    throw new CommandError("--postgres needs the store on PostgreSQL. Run: npm install @holdfast/postgres", {
      code: "adapter_not_installed",
      exitCode: EXIT.usage,
      data: { packageName: "@holdfast/postgres" },
    });
  return startDevPostgres(call, path.join(devFolder(call.io.cwd), "postgres"));
}

function devStore(project: string): string {
  devFolder(project);
  return "file:.holdfast/dev.db";
}

/** The folder keeps itself out of version control. */
function devFolder(project: string): string {
  const own = path.join(project, ".holdfast");
  try {
    mkdirSync(own, { recursive: true });
    const ignore = path.join(own, ".gitignore");
    if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
  } catch (error) {
    throw new FileFailed(own, "written", error, "--url names another store.");
  }
  return own;
}

interface Ready {
  readonly url: string;
  /** Where the URL is, if it has a password. */
  readonly urlFile: string | undefined;
  readonly server: RunningServer | undefined;
  readonly what: { readonly text: string; readonly workflows: readonly string[] } | undefined;
  readonly tookMs: number;
}

function show({ out, io }: Call, { url, urlFile, server, what, tookMs }: Ready): void {
  const { paint } = out;
  const file = urlFile === undefined ? undefined : path.relative(io.cwd, urlFile);
  if (server) {
    out.record({
      event: "listening",
      url: server.url,
      ...(server.dashboard === undefined ? {} : { dashboard: server.dashboard }),
    });
    out.line(`Holdfast listening on ${server.url}`);
    if (server.dashboard !== undefined) out.line(`Dashboard: ${server.dashboard}`);
  }
  const place = file === undefined ? { url } : { url: shownUrl(url), urlFile: file };
  out.record({ event: "ready", ...place, tookMs, workflows: what?.workflows ?? [] });
  out.line();
  out.line(
    `  ${paint.bold(paint.green("holdfast dev"))} ${paint.dim(version())}  ready in ${paint.bold(`${tookMs} ms`)}`,
  );
  out.line();
  out.facts(
    [
      ["store", file === undefined ? shownUrl(url) : `${shownUrl(url)} ${paint.dim(`(its URL is in ${file})`)}`],
      ["worker", what?.text],
      ["server", server === undefined ? paint.dim(`not installed: ${INSTALL_SERVER}`) : server.url],
    ],
    "  ",
  );
  const [first] = what?.workflows ?? [];
  out.line();
  if (first !== undefined) {
    out.line(`  ${paint.dim("In another terminal:")}`);
    const option = server?.url === DEFAULT_URL ? "" : ` --url ${server?.url ?? urlWords(url, file)}`;
    out.line(`  ${paint.cyan(`npx holdfast${option} workflow start ${first} --input '{}' --wait`)}`);
    out.line();
  }
  out.line(
    `  ${paint.dim(what === undefined ? "Ctrl-C stops." : "It reloads when a file changes. Ctrl-C drains and stops.")}`,
  );
  out.line();
}

/** What a shell makes the URL of, without showing a password. */
function urlWords(url: string, file: string | undefined): string {
  return file === undefined ? shownUrl(url) : `"$(cat ${file})"`;
}
