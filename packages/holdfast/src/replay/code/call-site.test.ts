import { expect, test } from "vitest";
import { ownFolders, passOver, placeIn } from "./call-site.ts";

test.each(["src/replay/code/call-site.ts", "dist/replay/code/call-site.js"])(
  "the folders of the package are known in %s",
  (file) => {
    expect(ownFolders(`file:///app/node_modules/holdfast/${file}`, "replay/code/call-site")).toEqual([
      "/app/node_modules/holdfast/src/",
      "/app/node_modules/holdfast/dist/",
    ]);
  },
);

test.each(["file:///app/dist/worker.mjs", undefined])(
  "in a bundle (%s) no folder is taken for Holdfast's own",
  (url) => {
    expect(ownFolders(url, "replay/code/call-site")).toBeUndefined();
  },
);

test("the place of a call is the caller of an adapter, once the adapter has said where it is", () => {
  const stack = [
    "HoldfastError: no",
    "    at transaction (file:///app/node_modules/@acme/store/dist/tx/transaction.js:7:3)",
    "    at order (file:///app/src/order.ts:12:9)",
  ].join("\n");
  expect(placeIn(stack)).toBe("/app/node_modules/@acme/store/dist/tx/transaction.js:7:3");
  passOver("file:///app/bundle.mjs", "tx/transaction");
  passOver("file:///app/node_modules/@acme/store/dist/tx/transaction.js", "tx/transaction");
  expect(placeIn(stack)).toBe("/app/src/order.ts:12:9");
});
