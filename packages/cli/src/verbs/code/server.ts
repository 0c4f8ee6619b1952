import { millisecondsOf } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { UsageError } from "../../io/failure.ts";
import { isServer } from "../../io/open.ts";
import { openServer, serverMissing } from "./server-package.ts";

/** How long balancers get to notice that the server is not ready, on SIGTERM. A person at a terminal does not wait for them. */
const BALANCER_WAIT = "5s";

export const server: Action = async (call) => {
  const { url, from } = call.target();
  if (from === "default" || isServer(url))
    throw new UsageError("server needs the store that it serves: --url postgres://… or --url file:app.db.");
  const waitMs = millisecondsOf(call.text("balancer-wait") ?? BALANCER_WAIT, "--balancer-wait");
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
  const balancerMs = interrupted.reason === "SIGTERM" ? waitMs : 0;
  const wait = balancerMs === 0 ? "" : `not ready from now on, open for ${balancerMs / 1_000} s more; then `;
  call.out.record({ event: "draining", balancerMs });
  call.out.note(`Draining: ${wait}calls have 10 s. A second signal stops at once.`);
  await running.close({ balancerMs });
  call.out.record({ event: "stopped" });
  return EXIT.done;
};
