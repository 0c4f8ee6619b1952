/** `dev`: a store of its own, the server if it is installed, and a worker that is replaced when its code changes. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Client } from "holdfast";
import type { Call } from "../../command/call.ts";
import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { CommandError } from "../../io/failure.ts";
import { shownUrl } from "../../io/target.ts";
import { version } from "../../version.ts";
import { DevWorker } from "./dev-worker.ts";
import { programOf } from "./own-programs.ts";
import { INSTALL_SERVER, openServer, type RunningServer, serverMissing } from "./server-package.ts";

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
  const url = call.text("url") ?? devStore(call.io.cwd);
  const namespace = call.text("namespace") ?? "default";
  // The tables are there before the worker's process and the server need them.
  const opening = call.openAt({ url, namespace, token: undefined, from: "flag" }, { create: "always" });
  const worker = files.length === 0 ? undefined : new DevWorker(call, { url, namespace, files });
  const loaded = worker?.load();
  const [server] = await Promise.all([openServer(call, url), opening]);
  const what = await loaded;
  if (demo) await startDemo(await opening);
  show(call, { url, server, what, tookMs: call.io.now() - began });
  const { interrupted } = call.io;
  await new Promise<void>((resolve) => {
    if (interrupted.aborted) resolve();
    interrupted.addEventListener("abort", () => resolve());
  });
  call.out.note(call.out.errorPaint.dim("\nDraining …"));
  await worker?.stop();
  await server?.close();
  call.out.record({ event: "stopped" });
  call.out.line(`${call.out.paint.green("✓")} Stopped. Runs that are open go on the next time.`);
  return EXIT.done;
};

/** Once: the next time, the runs are there. */
async function startDemo(hf: Client): Promise<void> {
  for (const cents of [490, 990, 1_990]) await hf.start("demo-order", { cents }, { id: `demo-order-${cents}` });
  await hf.schedules.create({ id: "demo-report", workflow: "demo-report", every: "10s", ifExists: "update" });
}

/** The folder keeps itself out of version control. */
function devStore(folder: string): string {
  const own = path.join(folder, ".holdfast");
  mkdirSync(own, { recursive: true });
  const ignore = path.join(own, ".gitignore");
  if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
  return "file:.holdfast/dev.db";
}

interface Ready {
  readonly url: string;
  readonly server: RunningServer | undefined;
  readonly what: { readonly text: string; readonly workflows: readonly string[] } | undefined;
  readonly tookMs: number;
}

function show({ out }: Call, { url, server, what, tookMs }: Ready): void {
  const { paint } = out;
  if (server) {
    out.record({
      event: "listening",
      url: server.url,
      ...(server.dashboard === undefined ? {} : { dashboard: server.dashboard }),
    });
    out.line(`Holdfast listening on ${server.url}`);
    if (server.dashboard !== undefined) out.line(`Dashboard: ${server.dashboard}`);
  }
  out.record({ event: "ready", url, tookMs, workflows: what?.workflows ?? [] });
  out.line();
  out.line(
    `  ${paint.bold(paint.green("holdfast dev"))} ${paint.dim(version())}  ready in ${paint.bold(`${tookMs} ms`)}`,
  );
  out.line();
  out.facts(
    [
      ["store", shownUrl(url)],
      ["worker", what?.text],
      ["server", server === undefined ? paint.dim(`not installed: ${INSTALL_SERVER}`) : server.url],
    ],
    "  ",
  );
  const [first] = what?.workflows ?? [];
  out.line();
  if (first !== undefined) {
    out.line(`  ${paint.dim("In another terminal:")}`);
    out.line(`  ${paint.cyan(`npx holdfast --url ${shownUrl(url)} workflow start ${first} --input '{}' --wait`)}`);
    out.line();
  }
  out.line(
    `  ${paint.dim(what === undefined ? "Ctrl-C stops." : "It reloads when a file changes. Ctrl-C drains and stops.")}`,
  );
  out.line();
}
