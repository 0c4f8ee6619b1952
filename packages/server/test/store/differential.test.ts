import { differential, memoryUnderTest } from "@holdfast/conformance";
import { remoteUnderTest } from "./remote-under-test.ts";

differential([{ name: "a store in memory behind a server", open: remoteUnderTest(memoryUnderTest) }], {
  seeds: [1, 2],
  conversationSeeds: [1],
});
