import { differential } from "@holdfast/conformance";
import { sqliteUnderTest } from "./sqlite-under-test.ts";

differential([{ name: "SQLite", open: sqliteUnderTest }]);
