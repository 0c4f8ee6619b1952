export type { ExitCode } from "./io/exit-code.ts";
export type { Adapter, Core, Io, Sink } from "./io/io.ts";
export { processIo } from "./io/process-io.ts";
export { main } from "./main.ts";
