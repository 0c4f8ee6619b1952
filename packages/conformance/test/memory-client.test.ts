import { clientConformance } from "../src/index.ts";

let stores = 0;

clientConformance("a store in memory", async () => {
  stores += 1;
  return { url: `memory:client conformance ${stores}`, close: async () => {} };
});
