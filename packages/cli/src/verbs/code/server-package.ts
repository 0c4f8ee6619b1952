/**
 * The seam to `@holdfast/server`, which is loaded when it is needed: this command runs without it. `openServer` of that package serves a
 * store at an address until it is closed.
 */
import type { Call } from "../../command/call.ts";
import { given } from "../../command/values.ts";
import { EXIT } from "../../io/exit-code.ts";
import { CommandError } from "../../io/failure.ts";

export interface RunningServer {
  readonly url: string;
  /** Where the dashboard is, if it is installed. */
  readonly dashboard?: string;
  close(): Promise<void>;
}

interface ServerPackage {
  openServer?(options: object): Promise<RunningServer>;
}

export const INSTALL_SERVER = "npm install @holdfast/server";

/** Undefined if the package is not installed. */
export async function openServer(call: Call, url: string): Promise<RunningServer | undefined> {
  const found = (await call.io.importPackage("@holdfast/server")) as ServerPackage | undefined;
  if (found?.openServer === undefined) return undefined;
  const auth = call.texts("auth");
  return found.openServer({
    url,
    ...given({ host: call.text("host"), port: call.number("port", 0), auth: auth.length === 0 ? undefined : auth }),
  });
}

export function serverMissing(): CommandError {
  return new CommandError(`The server is a package of its own, which is not installed. Run: ${INSTALL_SERVER}`, {
    code: "server_not_installed",
    exitCode: EXIT.usage,
    data: { packageName: "@holdfast/server" },
  });
}
