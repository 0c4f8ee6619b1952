import { accessConformance, SettableClock } from "@holdfast/conformance";
import type { AccessStore } from "holdfast/adapter";
import { openFile, temporaryFolder } from "./sqlite-under-test.ts";

accessConformance("SQLite", async () => {
  const folder = temporaryFolder();
  const clock = new SettableClock();
  const { store, access } = await openFile(folder.file("store.db"), { clock, durability: "async" });
  return {
    access: access as AccessStore,
    async setClock(ms) {
      clock.ms = ms;
    },
    async close() {
      await store.close();
      folder.remove();
    },
  };
});
