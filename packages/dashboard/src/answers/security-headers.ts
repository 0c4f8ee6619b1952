/** What every answer says to the browser. */

/** Scripts, styles and connections of this origin only; text becomes markup nowhere. */
export function contentPolicy(codecOrigin: string | undefined): string {
  const connect = codecOrigin === undefined ? "'self'" : `'self' ${codecOrigin}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${connect}`,
    "worker-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types holdfast",
  ].join("; ");
}

export function securityHeaders(policy: string): Readonly<Record<string, string>> {
  return {
    "content-security-policy": policy,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  };
}
