import { memoryUnderTest, storeConformance } from "../src/index.ts";

storeConformance("the memory store", () => memoryUnderTest());
