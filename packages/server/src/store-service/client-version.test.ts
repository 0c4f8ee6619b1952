import { isHoldfastError } from "holdfast/adapter";
import { expect, test } from "vitest";
import { oldestClient, requireKnownVersion } from "./client-version.ts";

function verdict(client: string, server: string): string {
  try {
    requireKnownVersion(client, server);
    return "accepted";
  } catch (error) {
    if (!isHoldfastError(error, "store_unavailable")) throw error;
    return error.message.slice(error.message.lastIndexOf(". ") + 2);
  }
}

test.each([
  ["0.3.0", "accepted"],
  ["0.3.9", "accepted"],
  ["0.2.5", "accepted"],
  ["0.4.0-beta.1", "accepted"],
  ["0.1.9", "Update the client, which is @holdfast/remote."],
  ["0.5.0", "Update the server."],
  ["1.3.0", "Update the server."],
  ["", "Update the client, which is @holdfast/remote."],
  ["x.y.z", "Update the client, which is @holdfast/remote."],
])('a client of version "%s" at a server of 0.3: %s', (client, expected) => {
  expect(verdict(client, "0.3.1")).toBe(expected);
});

test("the error says which versions the server talks to", () => {
  expect(() => requireKnownVersion("2.0.0", "0.1.0")).toThrow(
    "The server has version 0.1.0, and the client version 2.0.0. It talks to clients of 0.0, 0.1, 0.2.",
  );
});

test("the oldest client that is accepted is of the minor version before", () => {
  expect([oldestClient("0.3.1"), oldestClient("2.0.7")]).toEqual(["0.2.0", "2.0.0"]);
  expect(verdict(oldestClient("0.3.1"), "0.3.1")).toBe("accepted");
});
