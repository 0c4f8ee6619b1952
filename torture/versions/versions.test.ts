/**
 * A client, a worker and a server of which one is another build: the last release, or the last commit while there is none. Another one:
 * HOLDFAST_SKEW_AGAINST=<commit> npm test -- torture/versions
 */
import { openServer, type Server } from "@holdfast/server";
import { type Client, connect, silentLogger } from "holdfast";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { converse, EXPECTED, work } from "./conversation.ts";
import { OtherBuild, revisionToCompare } from "./other-build.ts";

const revision = revisionToCompare();

async function server(): Promise<Server> {
  const opened = await openServer({ url: "memory:", port: 0, logger: silentLogger });
  onTestFinished(() => opened.close());
  return opened;
}

async function client(url: string): Promise<Client> {
  const hf = await connect(url, { logger: silentLogger });
  onTestFinished(() => hf.close());
  return hf;
}

// skip: sources that are no repository have nothing to be compared with
describe.skipIf(revision === undefined)(`beside ${revision}`, () => {
  let other: OtherBuild;

  beforeAll(() => {
    other = new OtherBuild(revision as string);
  });
  afterAll(() => other.remove());

  test("a server of the other build serves a client and a worker of this one", async () => {
    const url = (await other.run("server")) as string;
    await work(await client(url));
    expect(await converse(await client(url))).toEqual(EXPECTED);
  });

  test("a worker of the other build works for a client of this one, at a server of this one", async () => {
    const { url } = await server();
    expect(await other.run("worker", url)).toBe("ready");
    expect(await converse(await client(url))).toEqual(EXPECTED);
  });

  test("a client of the other build is served by a server and a worker of this one", async () => {
    const { url } = await server();
    await work(await client(url));
    expect(await other.run("client", url)).toEqual(EXPECTED);
  });
});

// skip: sources that are no repository have nothing to be compared with
describe.skipIf(revision === undefined)("a server that this client cannot talk to", () => {
  test("is told apart by its version: nothing is tried", async () => {
    const other = new OtherBuild(revision as string);
    onTestFinished(() => other.remove());
    const version = "packages/server/src/store-service/version.ts".replace("packages/", "");
    other.edit(version, 'VERSION = "0.', 'VERSION = "7.');
    const url = (await other.run("server")) as string;
    const refused = connect(url, { logger: silentLogger });
    await expect(refused).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(/The server has version 7\..* Update the client/),
    });
  });
});
