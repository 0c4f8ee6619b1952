import { tmpdir } from "node:os";
import path from "node:path";
import { crashTests } from "./crash-tests.ts";
import { openStage } from "./stage.ts";

crashTests("SQLite", () => openStage(`file:${path.join(tmpdir(), "app.db")}`));
