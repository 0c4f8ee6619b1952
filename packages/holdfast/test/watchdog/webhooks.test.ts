import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { AlertPost, LAST_POSTS_MS, POST_MS } from "../../src/engine/watchdog/alert-post.ts";
import type { Alert } from "../../src/engine/watchdog/watchdog-options.ts";
import { silentLogger } from "../../src/ports/logger.ts";
import { systemWebhooks } from "../../src/system/webhooks.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const SECRET = "a secret";
const alert: Alert = {
  ...{ id: "a", state: "firing", detect: "store", namespace: "default", text: "It is slow: ü" },
  ...{ since: new Date(0), at: new Date(1_000) },
};

interface Received {
  readonly path: string | undefined;
  readonly method: string | undefined;
  readonly signature: unknown;
  readonly body: string;
}

const cleanup: (() => void)[] = [];
afterEach(() => {
  for (const one of cleanup.splice(0)) one();
});

/** A receiver that answers like this, the nth request. */
async function receiver(answer: (response: ServerResponse, n: number) => void) {
  const received: Received[] = [];
  const arrivals: (() => void)[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    const chunks = (await request.toArray()) as Buffer[];
    const { url, method, headers } = request;
    const body = Buffer.concat(chunks).toString("utf8");
    received.push({ path: url, method, signature: headers["x-holdfast-signature"], body });
    answer(response, received.length);
    for (const arrived of arrivals.splice(0)) arrived();
  }).listen(0, "127.0.0.1");
  cleanup.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const arrival = (): Promise<void> => new Promise((resolve) => void arrivals.push(resolve));
  return { received, url, arrival };
}

/** Sends one alert there; resolves with its outcome. Time passes only when the test says so. */
function post(url: string) {
  const clock = new VirtualClock();
  let tell: (outcome: string) => void;
  const outcome = new Promise<string>((resolve) => {
    tell = resolve;
  });
  const telemetry = {
    count: (_metric: string, _times: number, labels: Readonly<Record<string, string>>) =>
      tell(String(labels["outcome"])),
    duration: () => {},
  };
  const faults: string[] = [];
  let noted: (() => void) | undefined;
  const lines: string[] = [];
  const note = (about: object, line: string): void => {
    lines.push(`${line} ${(about as { readonly alert: string }).alert}`);
    faults.push((about as { readonly error: string }).error);
    noted?.();
  };
  const log = { ...silentLogger, warn: note, error: note };
  const fault = (): Promise<void> =>
    new Promise((resolve) => {
      noted = resolve;
    });
  const sender = new AlertPost({ clock, log, telemetry, webhooks: systemWebhooks }, { url, secret: SECRET });
  sender.push(alert);
  cleanup.push(() => void sender.stop());
  return { clock, outcome, faults, fault, lines, sender };
}

describe("the webhook sender of the system", () => {
  test("posts the alert, with the signature of exactly the bytes that arrive", async () => {
    const { received, url } = await receiver((response) => response.writeHead(204).end());
    expect(await post(url).outcome).toBe("sent");
    expect(received).toMatchObject([{ path: "/hook", method: "POST" }]);
    const [{ body, signature }] = received as [Received];
    expect(JSON.parse(body)).toEqual(JSON.parse(JSON.stringify(alert)));
    expect(signature).toBe(`sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`);
  });

  test("posts it again after an answer of 500, and the same bytes", async () => {
    const { received, url } = await receiver((response, n) => response.writeHead(n === 1 ? 500 : 200).end("a body"));
    const { clock, outcome, faults, fault } = post(url);
    await fault();
    expect(faults).toEqual(["it answered 500"]);
    await clock.advance("1s");
    expect(await outcome).toBe("sent");
    expect(received.length).toBe(2);
    expect(received[1]).toEqual(received[0]);
  });

  test("gives up a receiver that does not answer after ten seconds, and tries again", async () => {
    const { received, url, arrival } = await receiver((response, n) => {
      if (n > 1) response.writeHead(204).end();
    });
    const arrived = arrival();
    const { clock, outcome, faults, fault } = post(url);
    await arrived;
    const failed = fault();
    await clock.advance({ milliseconds: POST_MS });
    await failed;
    expect(faults).toEqual([`no answer within ${POST_MS} ms`]);
    await clock.advance("1s");
    expect(await outcome).toBe("sent");
    expect(received.length).toBe(2);
  });

  test("says why a receiver cannot be reached", async () => {
    const { url } = await receiver((response) => response.writeHead(204).end());
    for (const one of cleanup.splice(0)) one();
    const { faults, fault } = post(url);
    await fault();
    expect(faults).toEqual([expect.stringMatching(/^fetch failed: .*ECONNREFUSED/)]);
  });

  test("sends what waits before it stops, without the pauses", async () => {
    const { received, url } = await receiver((response, n) => response.writeHead(n === 1 ? 500 : 204).end());
    const { sender, fault, lines } = post(url);
    sender.push({ ...alert, text: "Another." });
    await fault();
    await sender.stop();
    expect(received.map(({ body }) => JSON.parse(body).text)).toEqual([alert.text, alert.text, "Another."]);
    expect(lines).toEqual([`an alert was not sent; trying again ${alert.text}`]);
  });

  test("says for each alert why it could not be sent before it stopped", async () => {
    const { url, received } = await receiver((response) => response.writeHead(503).end());
    const { sender, fault, lines, faults } = post(url);
    sender.push({ ...alert, text: "Another." });
    await fault();
    await sender.stop();
    expect(received.length).toBe(3);
    expect(lines.slice(1)).toEqual([`an alert could not be sent ${alert.text}`, "an alert could not be sent Another."]);
    expect(new Set(faults)).toEqual(new Set(["it answered 503"]));
  });

  test("waits three seconds at most when it stops, and logs and counts what it has not sent", async () => {
    const { url, arrival } = await receiver(() => {});
    const arrived = arrival();
    const { sender, outcome, lines, clock } = post(url);
    sender.push({ ...alert, text: "Another." });
    await arrived;
    const stopped = sender.stop();
    await clock.advance({ milliseconds: LAST_POSTS_MS - 1 });
    expect(lines).toEqual([]);
    await clock.advance({ milliseconds: 1 });
    await stopped;
    expect(await outcome).toBe("dropped");
    sender.push({ ...alert, text: "Too late." });
    expect(lines).toEqual([
      `an alert was not sent: the worker stops ${alert.text}`,
      "an alert was not sent: the worker stops Another.",
      "an alert was not sent: the worker stops Too late.",
    ]);
  });

  test("does not follow a redirect, and does not post again", async () => {
    const elsewhere = await receiver((response) => response.writeHead(204).end());
    const { received, url } = await receiver((response) => response.writeHead(307, { location: elsewhere.url }).end());
    const { outcome, faults } = post(url);
    expect(await outcome).toBe("failed");
    expect(faults).toEqual(["it redirects (307), which is not followed"]);
    expect([received.length, elsewhere.received.length]).toEqual([1, 0]);
  });
});
