import { expect, test } from "vitest";
import { decodedPart, encodedPart } from "./path-part.ts";

test.each([".", "..", "~.", "~..", "~~.", "...", "a/b", "~", "~a", "a.", "%2e", ""])(
  "%j stays what it is in an address, and comes back",
  (text) => {
    const { pathname } = new URL(`http://host/x/${encodedPart(text)}`);
    expect(pathname).toBe(`/x/${encodedPart(text)}`);
    expect(decodedPart(decodeURIComponent(pathname.slice(3)))).toBe(text);
  },
);
