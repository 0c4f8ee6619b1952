import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import os from "node:os";
import path from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { WorkflowService } from "@holdfast/protocol";
import { connect, workflow } from "holdfast";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServer, type Server } from "../src/index.ts";
import { silent } from "./server-under-test.ts";

const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-tls-"));
const file = (name: string): string => path.join(folder, name);
const read = (name: string): Buffer => readFileSync(file(name));
let server: Server;

/** A key, and a certificate with this name that the authority, or itself, has signed. */
function certify(name: string, altName: string, issuer?: string): void {
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const authority = name === "authority" ? "basicConstraints=critical,CA:TRUE\n" : "";
  writeFileSync(file(`${name}.ext`), `subjectAltName=${altName}\n${authority}`);
  openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", `${name}.key`);
  openssl("req", "-new", "-key", `${name}.key`, "-subj", `/CN=${name}`, "-out", `${name}.csr`);
  const signed = issuer
    ? ["-CA", `${issuer}.pem`, "-CAkey", `${issuer}.key`, "-CAcreateserial"]
    : ["-signkey", `${name}.key`];
  openssl(
    "x509",
    "-req",
    "-in",
    `${name}.csr`,
    ...signed,
    "-days",
    "2",
    "-extfile",
    `${name}.ext`,
    "-out",
    `${name}.pem`,
  );
}

beforeAll(async () => {
  certify("authority", "DNS:authority");
  certify("server", "IP:127.0.0.1", "authority");
  certify("shop", "URI:spiffe://shop/worker,DNS:shop", "authority");
  certify("worker", "URI:spiffe://shop/engine", "authority");
  certify("stranger", "URI:spiffe://shop/worker");
  server = await openServer({
    url: "memory:",
    port: 0,
    logger: silent,
    tls: { key: read("server.key"), cert: read("server.pem"), ca: read("authority.pem") },
    auth: ["keys", "mtls"],
    mtls: {
      grants: {
        "URI:spiffe://shop/worker": [{ role: "writer", namespace: "shop" }],
        "URI:spiffe://shop/engine": [{ role: "worker", namespace: "shop" }],
      },
    },
  });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

function service(certificate?: string) {
  const own = certificate ? { key: read(`${certificate}.key`), cert: read(`${certificate}.pem`) } : {};
  const nodeOptions = { ca: read("authority.pem"), ...own };
  return createClient(WorkflowService, createGrpcTransport({ baseUrl: server.url, nodeOptions }));
}

test("a client certificate opens what its name may do, and nothing else", async () => {
  const { runId } = await service("shop").startWorkflow({ workflowType: "order" });
  expect((await service("shop").getWorkflow({ runId })).workflow?.namespace).toBe("shop");
  await expect(service("shop").startWorkflow({ namespace: "other", workflowType: "order" })).rejects.toThrow(
    "[permission_denied]",
  );
});

test("a certificate that somebody else has signed opens nothing", async () => {
  await expect(service("stranger").listWorkflows({})).rejects.toThrow("[unauthenticated]");
  await expect(service().listWorkflows({})).rejects.toThrow("[unauthenticated]");
});

test("HTTP/1.1 is served over TLS as well", async () => {
  const status = await new Promise((resolve, reject) => {
    https
      .get(`${server.url}/readyz`, { ca: read("authority.pem") }, (response) => resolve(response.resume().statusCode))
      .on("error", reject);
  });
  expect(server.url).toMatch(/^https:/);
  expect(status).toBe(200);
});

test("a client and a worker of the library come in over TLS, with a certificate instead of a token", async () => {
  const trust = { ca: read("authority.pem") };
  const own = { ...trust, key: read("worker.key"), cert: read("worker.pem") };
  const greet = workflow("greet", (ctx, name: string) => ctx.step("greet", () => `Hello, ${name}`));
  const hf = await connect(server.url, { tls: own, namespace: "shop", logger: silent });
  await hf.worker({ workflows: [greet] }).start();
  expect(await hf.run(greet, "Ada")).toBe("Hello, Ada");
  await hf.close();
  await expect(connect(server.url, { tls: trust, namespace: "shop", logger: silent })).rejects.toMatchObject({
    code: "unauthenticated",
  });
});

test("a server whose authority the client does not know is not trusted", async () => {
  const refused = connect(server.url, { namespace: "shop", logger: silent });
  await expect(refused).rejects.toMatchObject({ code: "store_unavailable" });
});
