/** JWTs of an OpenID provider: signature, issuer, audience and time are checked; claims become roles. */
import { ROLES, type Role } from "holdfast/adapter";
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import type { Grant, Principal } from "./principal.ts";

/** Only asymmetric ones: with the others, whoever can check a token can make one. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
const CLOCK_TOLERANCE_S = 30;
const CACHED_MS_MAX = 60_000;

export interface JwtOptions {
  readonly issuer: string;
  readonly audience: string;
  /**
   * Where the keys of the issuer are.
   * @defaultValue `<issuer>/.well-known/jwks.json`
   */
  readonly jwksUrl?: string;
  /**
   * What the claims of a token allow.
   * @defaultValue the claim `holdfast`: `{ "<namespace>": "<role>" }`
   */
  readonly grants?: (claims: JWTPayload) => readonly Grant[];
}

export class JsonWebTokens {
  readonly #options: JwtOptions;
  readonly #keys: JWTVerifyGetKey;

  constructor(options: JwtOptions) {
    this.#options = options;
    const { issuer, jwksUrl = `${issuer.replace(/\/$/, "")}/.well-known/jwks.json` } = options;
    this.#keys = createRemoteJWKSet(new URL(jwksUrl), { cooldownDuration: 5_000, timeoutDuration: 5_000 });
  }

  /** Undefined if the token opens nothing. Rejects if the keys of the issuer cannot be read. */
  async principalOf(token: string, nowMs: number): Promise<Principal | undefined> {
    const { issuer, audience, grants = grantsOf } = this.#options;
    try {
      const { payload } = await jwtVerify(token, this.#keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_S,
        requiredClaims: ["sub", "exp"],
        currentDate: new Date(nowMs),
      });
      const until = Math.min(nowMs + CACHED_MS_MAX, (payload.exp as number) * 1_000);
      return { id: `${payload.sub}`, grants: grants(payload), until };
    } catch (error) {
      // Without the issuer's keys nobody can tell: that is not the fault of the token.
      if (!isFaultOfToken(error)) throw error;
      return undefined;
    }
  }
}

/** A page, an error or an empty object of the issuer is none. */
function isFaultOfToken(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return false;
  return error instanceof errors.JOSEError && error.code !== errors.JOSEError.code;
}

/** `{ "holdfast": { "shop": "writer", "*": "reader" } }` */
export function grantsOf(claims: JWTPayload): Grant[] {
  const named = claims["holdfast"];
  if (typeof named !== "object" || named === null) return [];
  return Object.entries(named).flatMap(([namespace, role]) =>
    ROLES.includes(role as Role) ? [{ namespace, role: role as Role }] : [],
  );
}
