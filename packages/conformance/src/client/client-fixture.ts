import { type Client, type ConnectOptions, connect, silentLogger } from "holdfast";
import type { StoreAddress } from "./client-suite.ts";

/** Clients of one store, closed when the test ends. */
export class ClientFixture {
  readonly #address: StoreAddress;
  readonly #clients: Client[] = [];

  constructor(address: StoreAddress) {
    this.#address = address;
  }

  connect(options: ConnectOptions = {}): Promise<Client> {
    return this.connectTo(this.#address.url, options);
  }

  /** A client of a memory store, for comparison. */
  connectToMemory(options: ConnectOptions = {}): Promise<Client> {
    return this.connectTo("memory:", options);
  }

  async connectTo(url: string, options: ConnectOptions): Promise<Client> {
    const client = await connect(url, { logger: silentLogger, ...options });
    this.#clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.#address.close();
  }
}

/** The error that a call is refused with; `undefined` if it succeeds. */
export async function refusalOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error ?? new Error(`${String(error)} was thrown`);
  }
}
