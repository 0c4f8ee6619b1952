import { clientConformance } from "@holdfast/conformance";
import { temporaryFolder } from "./sqlite-under-test.ts";

clientConformance("SQLite", async () => {
  const folder = temporaryFolder();
  return { url: `file:${folder.file("app.db")}`, close: async () => folder.remove() };
});
