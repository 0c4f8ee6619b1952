import { type Codec, connect, jsonCodec, silentLogger, workflow } from "holdfast";
import { expect, onTestFinished, test } from "vitest";

const echo = workflow("echo", async (_ctx, text: string) => text);

async function connectWith(codec: Partial<Codec>) {
  const client = await connect("memory:", { codec: { ...jsonCodec, name: "own", ...codec }, logger: silentLogger });
  onTestFinished(() => client.close());
  return client;
}

test.each([
  ["a promise: it must not be async", async () => new Uint8Array(2)],
  ['"text"', () => "text"],
  ["undefined", () => undefined],
])("a codec whose encode returns %s is refused before anything is stored", async (shown, encode) => {
  const client = await connectWith({ encode: encode as never });
  await expect(client.start(echo, "x", { id: "r" })).rejects.toMatchObject({
    code: "codec_failed",
    message: `Codec "own" cannot be used: encode() must return a Uint8Array, but for the input of workflow "echo" it returned ${shown}.`,
  });
  expect(await client.count()).toBe(0);
});

test("what a codec throws has a code, and the error as its cause", async () => {
  const broken = new Error("the vault is locked");
  const fails = (): never => {
    throw broken;
  };
  const encoding = await connectWith({ encode: fails });
  const failed = { code: "codec_failed", cause: broken };
  await expect(encoding.start(echo, "x")).rejects.toMatchObject({
    ...failed,
    message: expect.stringContaining('Codec "own" failed to encode the input of workflow "echo"'),
  });
  const decoding = await connectWith({ decode: fails });
  const run = await decoding.start(echo, "x");
  await expect(run.describe()).rejects.toMatchObject({
    ...failed,
    message: expect.stringContaining('Codec "own" failed to decode a stored value'),
  });
});
