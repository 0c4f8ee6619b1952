import { differential, memoryUnderTest } from "../src/index.ts";

differential([{ name: "another memory store", open: () => memoryUnderTest() }]);
