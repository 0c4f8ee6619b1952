import net from "node:net";
import { serverUrl } from "./test-database.ts";
import { endsAnswer, endsCall, failingCall, isPartOfCall, MessageReader, statementName } from "./wire.ts";

/** Faults that can strike a call in transit. */
export type Fault =
  /** The connection breaks before the server has seen any of the call. */
  | "not sent"
  /** … when the server has seen half of it. */
  | "half sent"
  /** … when the server has executed and committed it, before any of the answer has come back. */
  | "not answered"
  /** … when half of the answer has come back. */
  | "half answered"
  /** The server executes it, and from then on the connection is silent. */
  | "silent"
  /** The server answers that its disk is full, without executing the call. */
  | "disk full";

interface Order {
  readonly call: string;
  readonly fault: Fault;
  readonly struck: () => void;
}

/** A proxy in front of the server that injects faults. */
export class TestProxy {
  readonly #target: URL;
  readonly #server: net.Server;
  readonly #links = new Set<Link>();
  readonly #orders: Order[] = [];
  #port = 0;
  #silent = false;
  /** Answers of the server get lost. */
  swallowing = false;
  /** How many calls of each name have been sent. */
  readonly sent = new Map<string, number>();

  private constructor(target: string) {
    this.#target = new URL(target);
    // A silent connection does not even forward the close; a working one does.
    this.#server = net.createServer({ allowHalfOpen: true }, (near) => this.#connect(near));
  }

  static async start(target = serverUrl()): Promise<TestProxy> {
    const proxy = new TestProxy(target);
    await proxy.up();
    return proxy;
  }

  /** The URL with this proxy in place of the server. */
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
    for (const link of this.#links) link.cut();
    this.#links.clear();
  }

  /** Strikes the next call of that name; resolves when it has. */
  strike(call: string, fault: Fault): Promise<void> {
    return new Promise((struck) => this.#orders.push({ call, fault, struck }));
  }

  /** From now on nothing gets through, and no error is raised, on these connections or on new ones. */
  goSilent(): void {
    this.#silent = true;
    for (const link of this.#links) link.silent = true;
  }

  /** New connections work again; silent ones stay silent. */
  heal(): void {
    this.#silent = false;
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.down();
  }

  #connect(near: net.Socket): void {
    const far = net.connect({
      port: Number(this.#target.port || 5432),
      host: this.#target.hostname,
      allowHalfOpen: true,
    });
    const link: Link = new Link(near, far, {
      swallowing: () => this.swallowing,
      onCall: (call) => this.#faultOf(call),
      onClose: (missed) => {
        this.#links.delete(link);
        this.#orders.push(...missed);
      },
    });
    link.silent = this.#silent;
    this.#links.add(link);
  }

  #faultOf(call: string): Order | undefined {
    this.sent.set(call, (this.sent.get(call) ?? 0) + 1);
    const at = this.#orders.findIndex((order) => order.call === call);
    return at === -1 ? undefined : this.#orders.splice(at, 1)[0];
  }
}

interface LinkParams {
  readonly swallowing: () => boolean;
  readonly onCall: (call: string) => Order | undefined;
  /** Reports the faults that have not struck yet: something else broke the connection first. */
  readonly onClose: (missed: readonly Order[]) => void;
}

/** One connection through the proxy: near is the client, far the server. */
class Link {
  readonly #near: net.Socket;
  readonly #far: net.Socket;
  readonly #params: LinkParams;
  readonly #fromClient = new MessageReader("client");
  readonly #fromServer = new MessageReader("server");
  /** The part of the current call that has arrived so far. */
  #call: Buffer[] = [];
  /** The faults for the answers that the server still owes; the first answer is the one to the login. */
  readonly #owed: (Order | undefined)[] = [undefined];
  #answer: Buffer[] = [];
  silent = false;

  constructor(near: net.Socket, far: net.Socket, params: LinkParams) {
    this.#near = near;
    this.#far = far;
    this.#params = params;
    near.on("data", (data: Buffer) => this.silent || this.#sent(data));
    far.on("data", (data: Buffer) => this.silent || this.#answered(data));
    for (const [one, other] of [[near, far] as const, [far, near] as const]) {
      one.setNoDelay(true);
      one.on("error", () => {});
      one.on("end", () => this.silent || other.end());
      one.on("close", () => {
        if (!this.silent || one === near) other.destroy();
        params.onClose(this.#owed.splice(0).filter((order) => order !== undefined));
      });
    }
  }

  cut(): void {
    this.#near.destroy();
    this.#far.destroy();
  }

  #sent(data: Buffer): void {
    for (const message of this.#fromClient.read(data)) {
      if (!isPartOfCall(message)) {
        this.#far.write(message);
        continue;
      }
      this.#call.push(message);
      if (endsCall(message)) this.#pass(this.#call.splice(0));
    }
  }

  #pass(messages: readonly Buffer[]): void {
    const name = messages.map(statementName).find((found) => found !== undefined);
    const order = name === undefined ? undefined : this.#params.onCall(name);
    const bytes = Buffer.concat(messages);
    if (order?.fault === "not sent") return this.#break(order);
    if (order?.fault === "half sent") {
      this.#far.write(bytes.subarray(0, bytes.length >> 1), () => this.#break(order));
      return;
    }
    if (order?.fault === "disk full") {
      this.#far.write(failingCall("53100", "could not extend file: No space left on device"));
      this.#owed.push(undefined);
      return order.struck();
    }
    this.#owed.push(order?.fault === "silent" ? undefined : order);
    this.#far.write(bytes);
    if (order?.fault !== "silent") return;
    this.silent = true;
    order.struck();
  }

  #answered(data: Buffer): void {
    for (const message of this.#fromServer.read(data)) {
      const order = this.#owed[0];
      const kept = order?.fault === "not answered" || order?.fault === "half answered";
      if (kept) this.#answer.push(message);
      else if (!this.#params.swallowing()) this.#near.write(message);
      if (!endsAnswer(message)) continue;
      this.#owed.shift();
      if (order && kept) return this.#breakAnswer(order);
    }
  }

  #breakAnswer(order: Order): void {
    const bytes = Buffer.concat(this.#answer);
    if (order.fault === "not answered") return this.#break(order);
    this.#near.write(bytes.subarray(0, bytes.length >> 1), () => this.#break(order));
  }

  #break(order: Order): void {
    this.cut();
    order.struck();
  }
}
