import { storeConformance } from "@holdfast/conformance";
import { sqliteUnderTest } from "./sqlite-under-test.ts";

storeConformance("SQLite", sqliteUnderTest);
