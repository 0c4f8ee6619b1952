/** The seam to `@holdfast/server`, which is loaded when it is needed: the rest of this command runs without it. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type { AccessStore, Random, Role } from "holdfast/adapter";
import type { Call } from "../../command/call.ts";
import { given } from "../../command/values.ts";
import { EXIT } from "../../io/exit-code.ts";
import { CommandError, FileFailed, UsageError } from "../../io/failure.ts";
import { workerLogger } from "../../output/worker-logger.ts";

/** What this command uses of it. */
export interface ServerPackage {
  openServer(options: object): Promise<RunningServer>;
  createKey(access: AccessStore, random: Random, asked: object): Promise<MadeKey>;
  requireNamespaceName(name: string): void;
}

/** What this command uses of the dashboard. */
interface DashboardPackage {
  serverDashboard(host: object): unknown;
}

export interface RunningServer {
  readonly url: string;
  /** Where the dashboard is, if there is one. */
  readonly dashboard?: string;
  close(options?: { readonly balancerMs?: number }): Promise<void>;
}

export interface MadeKey {
  readonly id: string;
  readonly token: string;
  readonly role: Role;
  readonly namespace: string;
  readonly expiresAt: Date | null;
}

export const INSTALL_SERVER = "npm install @holdfast/server";

/** Undefined if the package is not installed. */
export async function openServer(call: Call, url: string): Promise<RunningServer | undefined> {
  const found = (await call.io.importPackage("@holdfast/server")) as ServerPackage | undefined;
  const auth = call.texts("auth");
  const pages = (await call.io.importPackage("@holdfast/dashboard/server")) as DashboardPackage | undefined;
  return found?.openServer({
    url,
    ...(pages ? { dashboard: pages.serverDashboard } : {}),
    logger: workerLogger(call.io, call.out, { own: true }),
    ...given({
      host: call.text("host"),
      port: call.number("port", 0),
      auth: auth.length === 0 ? undefined : auth,
      tls: tlsOf(call),
      migrate: call.text("migrate") === "check" ? "check" : undefined,
      insecurePublic: call.flag("insecure-public") || undefined,
      jwt: jwtOf(call),
      mtls: call.text("mtls-grants") === undefined ? undefined : { grants: grantsOf(call) },
    }),
  });
}

function tlsOf(call: Call): object | "proxy" | undefined {
  if (call.flag("tls-proxy")) return "proxy";
  const [cert, key, ca] = ["tls-cert", "tls-key", "tls-ca"].map((name) => fileOf(call, name));
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert === undefined || key === undefined) throw new UsageError("TLS needs both --tls-cert and --tls-key.");
  return { cert, key, ...given({ ca }) };
}

function jwtOf(call: Call): object | undefined {
  const [issuer, audience] = [call.text("jwt-issuer"), call.text("jwt-audience")];
  if (issuer === undefined && audience === undefined) return undefined;
  if (issuer === undefined || audience === undefined)
    throw new UsageError("JWTs need both --jwt-issuer and --jwt-audience.");
  return { issuer, audience };
}

function grantsOf(call: Call): unknown {
  try {
    return JSON.parse(String(fileOf(call, "mtls-grants")));
  } catch (error) {
    if (error instanceof SyntaxError) throw new UsageError(`--mtls-grants is not valid JSON: ${error.message}`);
    throw error;
  }
}

function fileOf(call: Call, option: string): Buffer | undefined {
  const name = call.text(option);
  if (name === undefined) return undefined;
  try {
    return readFileSync(path.resolve(call.io.cwd, name));
  } catch (error) {
    throw new FileFailed(`--${option}: ${path.resolve(call.io.cwd, name)}`, "read", error);
  }
}

export async function requireServerPackage(call: Call): Promise<ServerPackage> {
  const found = (await call.io.importPackage("@holdfast/server")) as ServerPackage | undefined;
  if (found === undefined) throw serverMissing();
  return found;
}

export function serverMissing(): CommandError {
  return new CommandError(`The server is a package of its own, which is not installed. Run: ${INSTALL_SERVER}`, {
    code: "server_not_installed",
    exitCode: EXIT.usage,
    data: { packageName: "@holdfast/server" },
  });
}
