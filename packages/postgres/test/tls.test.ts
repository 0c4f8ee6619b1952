import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import tls from "node:tls";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { serverUrl, TestDatabase } from "./test-database.ts";

const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-tls-"));
const key = path.join(folder, "key.pem");
const certificate = path.join(folder, "cert.pem");
const made = spawnSync("openssl", [
  ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
  ...["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
]);

let database: TestDatabase;
let front: net.Server;

/** Speaks TLS as a PostgreSQL server does, in front of one that does not. */
function startFront(): Promise<net.Server> {
  const context = tls.createSecureContext({ key: readFileSync(key), cert: readFileSync(certificate) });
  const { hostname, port } = new URL(serverUrl());
  const server = net.createServer((near) => {
    near.on("error", () => {});
    near.once("data", () => {
      near.write("S"); // the answer to the request for TLS
      const secure = new tls.TLSSocket(near, { isServer: true, secureContext: context });
      const far = net.connect(Number(port || 5432), hostname);
      for (const socket of [secure, far]) socket.on("error", () => {});
      secure.pipe(far).pipe(secure);
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

function urlWith(parameters: Readonly<Record<string, string>>): string {
  const url = new URL(database.url(parameters));
  url.hostname = "localhost";
  url.port = String((front.address() as net.AddressInfo).port);
  return url.toString();
}

beforeEach(async () => {
  database = await TestDatabase.create();
  if (made.status === 0) front = await startFront();
});

afterEach(async () => {
  await database.drop();
  front?.close();
});

afterAll(() => rmSync(folder, { recursive: true }));

// skip: the certificate is made with openssl, which may not be installed
test.skipIf(made.status !== 0)("the URL says how to use TLS and whom to trust", async () => {
  const trusting = urlWith({ sslmode: "verify-full", sslrootcert: certificate });
  const { store } = await database.open({ url: trusting });
  expect(await store.workers.list({ namespace: "default" })).toEqual([]);
  await database.open({ url: urlWith({ sslmode: "no-verify" }) });
  await expect(database.open({ url: urlWith({ sslmode: "verify-full" }) })).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringMatching(/self.signed certificate.* Check sslmode and sslrootcert in the URL/),
  });
});
