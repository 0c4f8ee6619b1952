import net from "node:net";
import { systemPorts } from "holdfast/adapter";
import { MemoryAccessStore } from "holdfast/testing";
import { expect, test } from "vitest";
import { createKey, type KeyRequest, openServer, type ServerOptions } from "../src/index.ts";
import { silent } from "./server-under-test.ts";

const open = (options: object) => openServer({ url: "memory:", port: 0, logger: silent, ...options } as ServerOptions);

test.each([
  [{ prot: 1 }, "Did you mean `port`?"],
  [{ port: 70_000 }, "port is 70000; it must be a whole number from 0 to 65535"],
  [{ port: "80" }, "port is"],
  [{ url: undefined }, "url is missing"],
  [{ auth: "key" }, 'Did you mean "keys"?'],
  [{ balancerMs: -1 }, "balancerMs is -1"],
  [{ limits: { start: {} } }, "Did you mean `starts`?"],
  [{ limits: { starts: { perSecond: 0, burst: 1 } } }, "limits.starts.perSecond is 0"],
  [{ limits: { starts: { perSecond: 1 } } }, "limits.starts needs perSecond and burst"],
  [{ tls: { key: "nonsense", cert: "nonsense" } }, "tls cannot be used"],
  [{ tls: { key: "nonsense" } }, "tls needs a key and a cert"],
  [{ auth: "jwt", jwt: { issuer: "example", audience: "a" } }, 'jwt.issuer is "example", not a URL'],
  [{ logger: {} }, "logger has no debug"],
])("openServer refuses %j", async (options, message) => {
  await expect(open(options)).rejects.toMatchObject({
    code: "invalid_option",
    message: expect.stringContaining(message),
  });
});

test("a port that another program uses is named", async () => {
  const other = net.createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as net.AddressInfo;
  try {
    await expect(open({ port })).rejects.toMatchObject({
      code: "invalid_option",
      message: `openServer: port is ${port}, which another program uses on 127.0.0.1.`,
    });
  } finally {
    other.close();
  }
});

test.each([
  [{ role: "root" }, "role is"],
  [{ role: undefined }, "role is missing"],
  [{ namespace: "hooks" }, "is a path of the server"],
  [{ namespace: "a.b" }, "has a character that is not allowed"],
  [{ namespace: "" }, "has 0 characters"],
  [{ name: "x".repeat(201) }, "name is 201 characters long"],
  [{ name: "a\u0000b" }, "name contains a NUL"],
  [{ expiresAt: new Date(Number.NaN) }, "expiresAt is neither a valid Date nor null"],
  [{ expiresAt: 5 }, "expiresAt is neither"],
  [{ expiresAt: new Date(0) }, "expiresAt has passed"],
  [{ expires: null }, "Did you mean `expiresAt`?"],
])("createKey refuses %j, and makes no key", async (wrong, message) => {
  const access = new MemoryAccessStore(systemPorts.clock);
  const asked = { name: "ci", role: "writer", namespace: "shop", expiresAt: null, ...wrong } as KeyRequest;
  await expect(createKey(access, systemPorts.random, asked)).rejects.toThrow(message);
  expect(await access.listKeys({ namespace: null })).toEqual([]);
});
