/** Finds out who calls: by API key, JWT or client certificate. Answers are remembered for seconds, never longer than they hold. */
import { type AccessStore, type Clock, HoldfastError, isHoldfastError, type Logger } from "holdfast/adapter";
import { hashOf, principalOfKey } from "./api-keys.ts";
import { type CertificateOptions, principalOfCertificate } from "./certificates.ts";
import { FailedLogins } from "./failed-logins.ts";
import { JsonWebTokens, type JwtOptions } from "./json-web-tokens.ts";
import { ANYONE, type Principal } from "./principal.ts";

const CACHED_MAX = 1_000;
const RIGHT_MAX = 100_000;
const LENGTH_MAX = 16 * 1024;

export type AuthMethod = "none" | "keys" | "jwt" | "mtls";

export interface AuthOptions {
  readonly methods: readonly AuthMethod[];
  readonly jwt?: JwtOptions;
  readonly mtls?: CertificateOptions;
}

/** What a request says about its sender. */
export interface Credentials {
  readonly authorization: string | null;
  readonly address: string;
  /** The names of a client certificate that was verified. */
  readonly names?: readonly string[];
}

export interface AuthenticatorParams extends AuthOptions {
  readonly access: AccessStore | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onRefused: (address: string, why: string) => void;
}

export class Authenticator {
  readonly #params: AuthenticatorParams;
  readonly #tokens: JsonWebTokens | undefined;
  readonly #failed: FailedLogins;
  readonly #known = new Map<string, Principal>();
  /** The hashes of tokens that were right at some time. */
  readonly #right = new Set<string>();

  constructor(params: AuthenticatorParams) {
    this.#params = params;
    this.#tokens = params.jwt && params.methods.includes("jwt") ? new JsonWebTokens(params.jwt) : undefined;
    this.#failed = new FailedLogins(params.clock);
  }

  /** Throws `unauthenticated`, or `rate_limited` after too many attempts. */
  async principalOf(credentials: Credentials): Promise<Principal> {
    const { methods, mtls } = this.#params;
    if (methods.includes("none")) return ANYONE;
    const { authorization, address, names } = credentials;
    if (authorization === null) {
      const certified = methods.includes("mtls") && mtls && names && principalOfCertificate(names, mtls);
      if (certified) return certified;
      throw refusal("There is no token. Send Authorization: Bearer <token>.");
    }
    const principal = await this.#ofToken(authorization, address);
    if (principal) return principal;
    this.#failed.note(address);
    this.#params.onRefused(address, "unauthenticated");
    throw refusal("The token is wrong, has expired or was revoked.");
  }

  async #ofToken(authorization: string, address: string): Promise<Principal | undefined> {
    const token = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization.slice(0, LENGTH_MAX))?.[1];
    const key = hashOf(token ?? authorization);
    // Whoever guesses must not lock out others behind the same proxy: a token that was right before is always looked up.
    if (!this.#right.has(key)) this.#failed.requirePatience(address);
    if (token === undefined) return undefined;
    const now = this.#params.clock.now();
    const known = this.#known.get(key);
    if (known && now < (known.until as number)) return known;
    this.#known.delete(key);
    const principal = await this.#lookUp(token, now);
    if (!principal) return undefined;
    if (this.#known.size >= CACHED_MAX) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(key, principal);
    if (this.#right.size >= RIGHT_MAX) this.#right.clear();
    this.#right.add(key);
    return principal;
  }

  async #lookUp(token: string, now: number): Promise<Principal | undefined> {
    const { methods, access, log } = this.#params;
    if (methods.includes("keys") && access && token.startsWith("hf_")) {
      const principal = await principalOfKey(access, token, now);
      if (principal)
        access.noteKeyUse({ id: principal.id }).catch((error: unknown) => {
          log.warn({ key: principal.id, error: String(error) }, "the last use of an API key could not be noted");
        });
      return principal;
    }
    try {
      return await this.#tokens?.principalOf(token, now);
    } catch (error) {
      if (isHoldfastError(error)) throw error;
      log.error({ error: String(error) }, "the keys of the JWT issuer cannot be read: nobody can log in with a JWT");
      throw new HoldfastError("store_unavailable", "The token cannot be checked now: its issuer does not answer.");
    }
  }
}

function refusal(message: string): HoldfastError {
  return new HoldfastError("unauthenticated", message);
}
