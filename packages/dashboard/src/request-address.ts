/** Where requests come from, as far as the server that passes them on knows: a Request does not say. */
const addresses = new WeakMap<Request, string>();

export function noteAddress(request: Request, address: string | undefined): void {
  if (address !== undefined) addresses.set(request, address);
}

export function addressOf(request: Request): string | undefined {
  return addresses.get(request);
}
