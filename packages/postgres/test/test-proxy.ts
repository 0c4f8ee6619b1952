import net from "node:net";
import { serverUrl } from "./test-database.ts";

/** A server in front of the server, to which things happen. */
export class TestProxy {
  readonly #server: net.Server;
  readonly #pairs = new Set<{ readonly near: net.Socket; readonly far: net.Socket }>();
  #port = 0;
  /** Answers of the server get lost. */
  swallowing = false;

  private constructor() {
    this.#server = net.createServer((near) => this.#connect(near));
  }

  static async start(): Promise<TestProxy> {
    const proxy = new TestProxy();
    await proxy.up();
    return proxy;
  }

  /** The URL with this proxy in the place of the server. */
  through(url: string): string {
    const changed = new URL(url);
    changed.hostname = "127.0.0.1";
    changed.port = String(this.#port);
    return changed.toString();
  }

  up(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.listen(this.#port, "127.0.0.1", () => {
        this.#port = (this.#server.address() as net.AddressInfo).port;
        resolve();
      });
    });
  }

  /** Breaks all connections; new ones are refused. */
  async down(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  cut(): void {
    for (const { near, far } of this.#pairs) {
      near.destroy();
      far.destroy();
    }
    this.#pairs.clear();
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.down();
  }

  #connect(near: net.Socket): void {
    const { hostname, port } = new URL(serverUrl());
    const far = net.connect(Number(port || 5432), hostname);
    const pair = { near, far };
    this.#pairs.add(pair);
    near.on("data", (data) => far.write(data));
    far.on("data", (data) => this.swallowing || near.write(data));
    for (const [one, other] of [[near, far] as const, [far, near] as const]) {
      one.on("error", () => {});
      one.on("close", () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
    }
  }
}
