import { existsSync, readFileSync } from "node:fs";
import { IN_PLAIN_SIGHT, liveInSecret, SECRET } from "@holdfast/conformance";
import { connect, silentLogger } from "holdfast";
import { compressed, encrypted, json, messagePack } from "holdfast/codecs";
import { expect, test } from "vitest";
import { temporaryFolder } from "./sqlite-under-test.ts";

const keys = { k1: new Uint8Array(32).fill(1) };

test.each([
  ["nothing that encrypted() wrote can be read", false, encrypted({ current: "k1", keys })],
  ["nor behind compressed(messagePack())", false, encrypted({ current: "k1", keys, inner: compressed(messagePack()) })],
  ["everything that json() wrote can be read", true, json()],
] as const)("in the file and its log, %s", async (_title, readable, codec) => {
  const folder = temporaryFolder();
  const file = folder.file("app.db");
  const open = (namespace = "default") => connect(`file:${file}`, { codec, namespace, logger: silentLogger });
  const inspect = async (): Promise<void> => {
    const bytes = Buffer.concat([file, `${file}-wal`].filter(existsSync).map((name) => readFileSync(name)));
    expect(bytes.includes(SECRET)).toBe(readable);
    for (const text of IN_PLAIN_SIGHT) expect(bytes.includes(text)).toBe(true);
  };
  const clients = { worker: await open(), asker: await open(), theirs: await open("theirs") };
  await liveInSecret(clients, inspect);
  for (const client of Object.values(clients)) await client.close();
  await inspect();
  folder.remove();
});
