/** A receiver of OTLP over HTTP with JSON, as a collector is one. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly links?: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes: readonly OtlpAttribute[];
  }[];
}

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parent: string | undefined;
  readonly name: string;
  readonly about: Readonly<Record<string, string | number>>;
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly about: Readonly<Record<string, string | number>>;
  }[];
}

export interface Collector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  named(name: string): CollectedSpan[];
  /** Resolves when that many spans of the name have come. */
  received(name: string, times?: number): Promise<void>;
  close(): Promise<unknown>;
}

export async function openCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const waiting = new Set<() => void>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url === "/v1/traces") spans.push(...spansOf(JSON.parse(Buffer.concat(chunks).toString())));
    response.setHeader("Content-Type", "application/json").end("{}");
    for (const look of waiting) look();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const named = (name: string) => spans.filter((span) => span.name === name);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans,
    named,
    received: (name, times = 1) =>
      new Promise((resolve) => {
        const look = () => {
          if (named(name).length < times) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

function spansOf(body: {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[] }[];
}): CollectedSpan[] {
  const sent = body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  return sent.map(({ traceId, spanId, parentSpanId, name, attributes, links = [] }) => ({
    traceId,
    spanId,
    parent: parentSpanId || undefined,
    name,
    about: aboutOf(attributes),
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId, about: aboutOf(link.attributes) })),
  }));
}

function aboutOf(attributes: readonly OtlpAttribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key.replace(/^holdfast\./, ""), value.stringValue ?? Number(value.intValue)]),
  );
}
