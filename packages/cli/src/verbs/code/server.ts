import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { UsageError } from "../../io/failure.ts";
import { isServer } from "../../io/open.ts";
import { openServer, serverMissing } from "./server-package.ts";

export const server: Action = async (call) => {
  const { url, from } = call.target();
  if (from === "default" || isServer(url))
    throw new UsageError("server needs the store that it serves: --url postgres://… or --url file:app.db.");
  const running = await openServer(call, url);
  if (running === undefined) throw serverMissing();
  call.out.record({ event: "listening", url: running.url });
  call.out.line(`Holdfast listening on ${running.url}`);
  if (running.dashboard !== undefined) call.out.line(`Dashboard: ${running.dashboard}`);
  const { interrupted } = call.io;
  await new Promise<void>((resolve) => {
    if (interrupted.aborted) resolve();
    interrupted.addEventListener("abort", () => resolve());
  });
  await running.close();
  return EXIT.done;
};
