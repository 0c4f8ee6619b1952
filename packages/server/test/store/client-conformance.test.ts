import { clientConformance } from "@holdfast/conformance";
import { serve, sqliteStore } from "./served-store.ts";

clientConformance("a server with SQLite", async () => serve(await sqliteStore()));
