import process from "node:process";
import { crashTests } from "./crash-tests.ts";
import { openStage } from "./stage.ts";

crashTests("PostgreSQL", () => {
  const url = process.env.HOLDFAST_TEST_POSTGRES_URL;
  if (!url) throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
  return openStage(url);
});
