/** The workflows and tasks that files export. */
import { existsSync } from "node:fs";
import path from "node:path";
import type { AnyTask, AnyWorkflow } from "holdfast";
import { EXIT } from "../../io/exit-code.ts";
import { CommandError } from "../../io/failure.ts";
import type { Io } from "../../io/io.ts";

export interface ExportedCode {
  readonly workflows: readonly AnyWorkflow[];
  readonly tasks: readonly AnyTask[];
}

/** Loads the files. `onImport` is told of every file that is loaded with them. */
export async function loadCode(
  io: Io,
  files: readonly string[],
  onImport?: (file: string) => void,
): Promise<ExportedCode> {
  const found = new Set<unknown>();
  for (const name of files) {
    const file = path.resolve(io.cwd, name);
    if (!existsSync(file)) throw failure(`There is no file ${file}.`, EXIT.notFound, "file_not_found", { file });
    let module: Record<string, unknown>;
    try {
      module = await io.importFile(file, onImport);
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      throw failure(`${file} cannot be loaded: ${message}`, EXIT.usage, "code_not_loaded", { file }, cause);
    }
    const exported = definitionsIn(module);
    if (exported.length === 0)
      throw failure(
        `${file} exports no workflow and no task. Write: export const order = workflow("order", …)`,
        EXIT.usage,
        "nothing_exported",
        { file },
      );
    for (const definition of exported) found.add(definition);
  }
  const all = [...found] as { readonly kind: string; readonly external?: boolean }[];
  return {
    workflows: all.filter(({ kind }) => kind === "workflow") as unknown as AnyWorkflow[],
    // Nobody executes a task that is completed from outside.
    tasks: all.filter(({ kind, external }) => kind === "task" && external !== true) as unknown as AnyTask[],
  };
}

/** Exports, and what exported lists and objects contain: `export default { workflows: [order] }`. */
function definitionsIn(module: Record<string, unknown>, depth = 0): unknown[] {
  return Object.values(module).flatMap((value) => {
    if (typeof value !== "object" || value === null) return [];
    const { kind, name } = value as { readonly kind?: unknown; readonly name?: unknown };
    if ((kind === "workflow" || kind === "task") && typeof name === "string") return [value];
    const isList = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
    return depth < 2 && isList ? definitionsIn(value as Record<string, unknown>, depth + 1) : [];
  });
}

function failure(
  message: string,
  exitCode: typeof EXIT.usage | typeof EXIT.notFound,
  code: string,
  data: Readonly<Record<string, unknown>>,
  cause?: unknown,
): CommandError {
  return new CommandError(message, { code, exitCode, data, cause });
}

/** What there is, in a few words. Of a workflow with several versions, each is named. */
export function codeText({ workflows, tasks }: ExportedCode): string {
  const named = workflows as readonly { readonly name: string; readonly version: string }[];
  const isOne = (name: string): boolean => named.filter((other) => other.name === name).length === 1;
  return [
    ...counted(
      named.map(({ name, version }) => (isOne(name) ? name : `${name}@${version}`)),
      "workflow",
    ),
    ...counted(
      (tasks as readonly { readonly name: string }[]).map(({ name }) => name),
      "task",
    ),
  ].join(" and ");
}

function counted(names: readonly string[], what: string): string[] {
  return names.length === 0 ? [] : [`${names.length} ${what}${names.length === 1 ? "" : "s"} (${names.join(", ")})`];
}
