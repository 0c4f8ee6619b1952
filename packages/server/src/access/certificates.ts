/** Client certificates: their names (SAN) become roles. That they are genuine was decided by TLS. */
import type { Grant, Principal } from "./principal.ts";

export interface CertificateOptions {
  /** By name in the certificate, such as `DNS:worker.shop.example` or `URI:spiffe://shop/worker`. */
  readonly grants: Readonly<Record<string, readonly Grant[]>>;
}

export function principalOfCertificate(
  names: readonly string[],
  { grants }: CertificateOptions,
): Principal | undefined {
  const known = names.filter((name) => Object.hasOwn(grants, name));
  const [first] = known;
  if (first === undefined) return undefined;
  return { id: first, grants: known.flatMap((name) => grants[name] ?? []) };
}

/** `DNS:a.example, URI:spiffe://b` as a list; names that contain a quote are left out. */
export function subjectNames(altNames: string | undefined): string[] {
  return (altNames ?? "").split(", ").filter((name) => name !== "" && !name.includes('"'));
}
