// Code that has none of the workflows of the tests.
import { workflow } from "holdfast";

export const other = workflow("other", async () => 1);
