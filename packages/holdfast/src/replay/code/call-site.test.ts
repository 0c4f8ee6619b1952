import { expect, test } from "vitest";
import { ownFolders } from "./call-site.ts";

test.each(["src/replay/code/call-site.ts", "dist/replay/code/call-site.js"])(
  "the folders of the package are known in %s",
  (file) => {
    expect(ownFolders(`file:///app/node_modules/holdfast/${file}`)).toEqual([
      "/app/node_modules/holdfast/src/",
      "/app/node_modules/holdfast/dist/",
    ]);
  },
);

test.each(["file:///app/dist/worker.mjs", undefined])(
  "in a bundle (%s) no folder is taken for Holdfast's own",
  (url) => {
    expect(ownFolders(url)).toBeUndefined();
  },
);
