import type { DescService } from "@bufbuild/protobuf";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import {
  AdminService,
  Health,
  NamespaceService,
  type Payload,
  ServerReflection,
  WorkerService,
  WorkflowScheduleService,
  WorkflowService,
} from "@holdfast/protocol";
import { type Client, connect } from "holdfast";
import { openServer, type Server, type ServerOptions } from "../src/index.ts";

export const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** What anybody can call; Holdfast's own clients have StoreService besides. */
export const SERVICES: readonly DescService[] = [
  WorkflowService,
  WorkflowScheduleService,
  WorkerService,
  AdminService,
  NamespaceService,
  Health,
  ServerReflection,
];

let stores = 0;

export interface ServerUnderTest {
  readonly server: Server;
  /** The URL of its store, for workers and clients in this process. */
  readonly store: string;
  connect(namespace?: string): Promise<Client>;
  transport(options?: {
    readonly token?: string;
    readonly kind?: "grpc" | "connect" | "web";
    readonly headers?: Record<string, string>;
  }): Transport;
  close(): Promise<void>;
}

/** A server on a memory store that clients of this process share. */
export async function serverUnderTest(options: Partial<ServerOptions> = {}): Promise<ServerUnderTest> {
  stores += 1;
  const store = options.url ?? `memory:server-${process.pid}-${stores}`;
  const server = await openServer({ port: 0, logger: silent, ...options, url: store });
  const clients: Client[] = [];
  return {
    server,
    store,
    async connect(namespace = "default") {
      const client = await connect(store, { namespace, logger: silent });
      clients.push(client);
      return client;
    },
    transport({ token, kind = "grpc", headers = {} } = {}) {
      const interceptors = [sending({ ...headers, ...(token ? { authorization: `Bearer ${token}` } : {}) })];
      const baseUrl = server.url;
      if (kind === "grpc") return createGrpcTransport({ baseUrl, interceptors });
      if (kind === "web") return createGrpcWebTransport({ baseUrl, httpVersion: "1.1", interceptors });
      return createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false, interceptors });
    },
    async close() {
      for (const client of clients) await client.close();
      await server.close();
    },
  };
}

function sending(headers: Readonly<Record<string, string>>): Interceptor {
  return (next) => (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return next(request);
  };
}

export function jsonPayload(value: unknown): { data: Uint8Array; metadata: Record<string, string> } {
  return { data: new TextEncoder().encode(JSON.stringify(value)), metadata: {} };
}

export function jsonOf(payload: Payload | undefined): unknown {
  return payload && JSON.parse(new TextDecoder().decode(payload.data));
}
