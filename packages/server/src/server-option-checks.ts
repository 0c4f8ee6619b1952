/** Refuses options that cannot be meant, and what would open a store to everybody by accident. */
import { createSecureContext } from "node:tls";
import {
  checkedLater,
  checkOptions,
  type HoldfastError,
  invalidOption,
  isBoolean,
  isFunction,
  isText,
  listOf,
  type OptionCheck,
  type OptionChecks,
  objectWith,
  oneOf,
  optionsOf,
  wholeNumber,
} from "holdfast/adapter";
import type { AuthMethod } from "./access/authenticator.ts";
import type { JwtOptions } from "./access/json-web-tokens.ts";
import type { Rate, Rates } from "./access/rate-limits.ts";
import type { TlsOptions } from "./port/listener.ts";
import type { ServerOptions } from "./server-options.ts";

const WHERE = "openServer";
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/;
const BALANCER_MS_MAX = 10 * 60 * 1000;
const isMethod = oneOf("none", "keys", "jwt", "mtls");

const isPositive: OptionCheck = (value, where, option) => {
  if (typeof value !== "number" || !(value > 0) || value === Number.POSITIVE_INFINITY)
    throw invalidOption(where, option, `is ${String(value)}; it must be a number above 0`);
};

const isUrl: OptionCheck = (value, where, option) => {
  isText(value, where, option);
  if (!URL.canParse(value as string) || !/^https?:$/.test(new URL(value as string).protocol))
    throw invalidOption(where, option, `is "${String(value).slice(0, 200)}", not a URL with http or https`);
};

const isPem: OptionCheck = (value, where, option) => {
  if (typeof value !== "string" && !Buffer.isBuffer(value))
    throw invalidOption(where, option, "is neither a text nor a Buffer in the format PEM");
};

const RATE = optionsOf<Rate>({ perSecond: isPositive, burst: isPositive });
const TLS = optionsOf<TlsOptions>({ key: isPem, cert: isPem, ca: isPem });

const CHECKS: OptionChecks<ServerOptions> = {
  url: isText,
  host: isText,
  port: wholeNumber(0, 65_535),
  auth: (value, where, option) => (Array.isArray(value) ? listOf(isMethod) : isMethod)(value, where, option),
  jwt: optionsOf<JwtOptions>({ issuer: isUrl, audience: isText, jwksUrl: isUrl, grants: isFunction }),
  mtls: optionsOf<NonNullable<ServerOptions["mtls"]>>({ grants: objectWith() }),
  tls: (value, where, option) => (value === "proxy" ? undefined : TLS(value, where, option)),
  insecurePublic: isBoolean,
  hosts: listOf(isText),
  limits: optionsOf<Partial<Rates>>({ starts: RATE, claims: RATE, reads: RATE, bytes: RATE }),
  coordinate: isBoolean,
  balancerMs: wholeNumber(0, BALANCER_MS_MAX),
  services: listOf(objectWith("mount")),
  pages: isFunction,
  dashboard: isFunction,
  metrics: isFunction,
  logger: objectWith("debug", "info", "warn", "error"),
  // Those of the store are checked where it is opened.
  migrate: checkedLater,
  durability: checkedLater,
  schema: checkedLater,
  adapters: checkedLater,
  runLimits: checkedLater,
  patience: checkedLater,
  sessions: checkedLater,
  open: checkedLater,
};

export function authMethods({ auth = "none" }: ServerOptions): readonly AuthMethod[] {
  return typeof auth === "string" ? [auth] : auth;
}

export function checkServerOptions(options: ServerOptions): void {
  checkOptions(options, CHECKS, WHERE);
  if (options?.url === undefined) throw refused("url", "is missing: name the store");
  const methods = authMethods(options);
  const { tls, jwt, mtls, limits = {} } = options;
  if (methods.length === 0) throw refused("auth", 'is an empty list; use "none" if nobody is to log in');
  if (methods.includes("none") && methods.length > 1) throw refused("auth", 'has "none" beside another way to log in');
  if (methods.includes("jwt") && (jwt?.issuer === undefined || jwt.audience === undefined))
    throw refused("jwt", "is missing: name the issuer and the audience");
  if (methods.includes("mtls") && (!mtls?.grants || typeof tls !== "object" || tls.ca === undefined))
    throw refused("mtls", "needs its table of names, and tls with the ca that signs client certificates");
  for (const [kind, rate] of Object.entries(limits))
    if (rate && (rate.perSecond === undefined || rate.burst === undefined))
      throw refused(`limits.${kind}`, "needs perSecond and burst");
  if (typeof tls === "object") checkTls(tls);
  checkReach(options, methods);
}

function checkTls(tls: TlsOptions): void {
  if (tls.key === undefined || tls.cert === undefined) throw refused("tls", "needs a key and a cert");
  try {
    createSecureContext(tls);
  } catch (error) {
    // What OpenSSL says names no part of the key.
    throw refused("tls", `cannot be used: ${error instanceof Error ? error.message : "it is not PEM"}`);
  }
}

function checkReach(
  { host = "127.0.0.1", tls, insecurePublic = false }: ServerOptions,
  methods: readonly AuthMethod[],
) {
  if (LOOPBACK.test(host) || insecurePublic) return;
  if (methods.includes("none")) {
    const advice = "Set auth, or insecurePublic if everybody who reaches this address may do everything";
    throw refused("host", `is ${host}, which others can reach, and nobody has to log in. ${advice}`);
  }
  if (tls === undefined) {
    const advice = 'Set tls; "proxy" if something before the server encrypts; or insecurePublic';
    throw refused("host", `is ${host}, which others can reach, and tokens would travel unencrypted. ${advice}`);
  }
}

/** Why the port cannot be had: the address is taken, or not one of this machine. */
export function cannotListen(error: unknown, host: string, port: number): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === "EADDRINUSE") return refused("port", `is ${port}, which another program uses on ${host}`);
  if (code === "EACCES") return refused("port", `is ${port}, which this process may not use`);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN")
    return refused("host", `is ${host}, which is no address of this machine`);
  return error;
}

function refused(option: string, fault: string): HoldfastError {
  return invalidOption(WHERE, option, fault);
}
