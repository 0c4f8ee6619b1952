import { memoryUnderTest, storeConformance } from "@holdfast/conformance";
import { remoteUnderTest } from "./remote-under-test.ts";

storeConformance("a store in memory behind a server", remoteUnderTest(memoryUnderTest));
