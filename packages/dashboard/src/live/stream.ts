/** One stream of hints per tab, as server-sent events. */
import type { Clock, Timer } from "holdfast/adapter";
import type { LiveMessage } from "../api/api-messages.ts";
import { SESSION_TOPIC, type Topics } from "./topics.ts";

const PING_MS = 15_000;
/** A tab that reads nothing is told later, all at once: what it shows is old anyway. */
const UNREAD_MAX = 200;

export interface StreamParams {
  readonly topics: Topics;
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly now: number;
  /** Somebody who reconnects has missed something. */
  readonly reconnected: boolean;
  /** Whether the visitor may still look: asked with each ping. */
  readonly stillWelcome: () => Promise<boolean>;
  /** Tells at once, where that is known: a session that was revoked. */
  readonly follow: (ended: () => void) => () => void;
  readonly onClose: (close: () => void) => () => void;
}

export function liveStream(params: StreamParams): Response {
  let end = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      end = feed(controller, params);
    },
    cancel() {
      end();
    },
  });
  const headers = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
  };
  return new Response(body, { headers });
}

function feed(controller: ReadableStreamDefaultController<Uint8Array>, params: StreamParams): () => void {
  const { topics, names, clock } = params;
  const encoder = new TextEncoder();
  let open = true;
  let behind = false;
  let timer: Timer | undefined;
  const undo: (() => void)[] = [];
  const end = (): void => {
    if (!open) return;
    open = false;
    timer?.cancel();
    for (const one of undo) one();
    try {
      controller.close();
    } catch {
      // the reader has gone already
    }
  };
  const send = (message: LiveMessage): void => {
    if (!open) return;
    if ((controller.desiredSize ?? 1) < -UNREAD_MAX) {
      behind = true;
      return;
    }
    if (behind) {
      behind = false;
      send({ type: "resync", topics: names, reason: "The page was behind." });
    }
    controller.enqueue(
      encoder.encode(`event: ${message.type}\nid: ${clock.now()}\ndata: ${JSON.stringify(message)}\n\n`),
    );
  };
  // Who it is has changed: the page asks, and shows what it is told.
  const shutOut = (): void => {
    send({ type: "hint", topic: SESSION_TOPIC });
    end();
  };
  const ping = (): void => {
    timer = clock.setTimer(PING_MS, () => {
      void params.stillWelcome().then(
        (welcome) => {
          if (!welcome) return shutOut();
          send({ type: "ping", now: clock.now() });
          if (open) ping();
        },
        () => end(),
      );
    });
    timer.unref?.();
  };
  send({ type: "hello", now: params.now, topics: names });
  if (params.reconnected) send({ type: "resync", topics: names, reason: "The connection was lost." });
  const watched = names.filter((name) => name !== SESSION_TOPIC);
  undo.push(...watched.map((name) => topics.watch(name, send)), params.onClose(end), params.follow(shutOut));
  ping();
  return end;
}
