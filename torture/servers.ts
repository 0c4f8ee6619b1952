/** Server processes behind one address: a connection goes to one that is there, as a load balancer would have it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import process from "node:process";
import { createInterface } from "node:readline";

interface Server {
  readonly child: ChildProcess;
  readonly port: number;
}

export class Servers {
  readonly #args: readonly string[];
  readonly #servers: Server[] = [];
  readonly #balancer = net.createServer((client) => this.#connect(client));
  #turn = 0;

  constructor(args: readonly string[]) {
    this.#args = args;
  }

  /** The address of all of them. */
  get url(): string {
    return `http://127.0.0.1:${(this.#balancer.address() as net.AddressInfo).port}`;
  }

  async open(count: number): Promise<void> {
    this.#balancer.listen(0, "127.0.0.1");
    await once(this.#balancer, "listening");
    await Promise.all(Array.from({ length: count }, () => this.start()));
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, this.#args, { stdio: ["pipe", "pipe", "inherit"] });
    const ended = once(child, "exit").then(() => {
      throw new Error("a server ended before it was ready");
    });
    const ready = once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line");
    const [port] = (await Promise.race([ready, ended])) as [string];
    ended.catch(() => {});
    this.#servers.push({ child, port: Number(port) });
  }

  /** Kills the one that has been there for longest, without a word. */
  async killOldest(): Promise<void> {
    const { child } = this.#servers.shift() as Server;
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  }

  end(): void {
    for (const { child } of this.#servers) child.kill("SIGKILL");
    this.#balancer.close();
  }

  #connect(client: net.Socket): void {
    this.#turn += 1;
    const server = this.#servers[this.#turn % Math.max(1, this.#servers.length)];
    if (!server) return void client.destroy();
    const upstream = net.connect(server.port, "127.0.0.1");
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.setNoDelay(true);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  }
}
