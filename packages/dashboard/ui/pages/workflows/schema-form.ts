/**
 * A form for the input of a workflow, from the JSON schema of it. What a form cannot show (unions, lists, maps) is a field of JSON. The
 * server checks the input again with the schema itself: what is found here only saves a round trip.
 */
import { parseJsonText } from "../../text/json-text.ts";

/** A JSON schema, of which nothing is certain: it comes from the code of users. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export type FieldType = "text" | "number" | "integer" | "boolean" | "choice" | "date-time" | "json";

/** A field of the form. */
export interface FormField {
  /** Where its value belongs; empty: it is the whole input. */
  readonly path: readonly string[];
  readonly label: string;
  readonly about: string;
  readonly type: FieldType;
  readonly required: boolean;
  /** What the schema suggests, as the field shows it. */
  readonly initial: string;
  readonly choices: readonly string[];
  readonly rules: FieldRules;
}

/** What a value must be, as far as a form can tell. */
export interface FieldRules {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

/** What is wrong with a field. */
export interface FieldProblem {
  readonly field: number;
  readonly problem: string;
}

export type FormResult =
  | { readonly input: unknown; readonly problems: readonly [] }
  | { readonly problems: readonly [FieldProblem, ...FieldProblem[]] };

const DEPTH_MAX = 4;
const FIELDS_MAX = 60;

/** The fields of a schema. One that no form can show is a single field of JSON. */
export function fieldsOf(schema: JsonSchema | null): FormField[] {
  if (schema === null) return [wholeField("")];
  const fields = schemaFields(schema, [], true);
  const own = fields.length === 0 ? [] : fields;
  return own.length > FIELDS_MAX ? [wholeField(textOf(schema["description"]))] : own;
}

/** The input that the texts of the fields stand for, or what is wrong with them. */
export function inputOf(fields: readonly FormField[], texts: readonly string[]): FormResult {
  const problems: FieldProblem[] = [];
  const root: { value: unknown } = { value: fields.some(({ path }) => path.length > 0) ? {} : undefined };
  for (const [index, field] of fields.entries()) {
    const read = readField(field, texts[index] ?? "");
    if ("problem" in read) problems.push({ field: index, problem: read.problem });
    else if (read.value !== undefined) put(root, field.path, read.value);
  }
  const [first, ...others] = problems;
  return first ? { problems: [first, ...others] } : { input: root.value, problems: [] };
}

function schemaFields(schema: JsonSchema, path: readonly string[], required: boolean): FormField[] {
  const properties = schema["properties"];
  if (!isObject(properties) || path.length >= DEPTH_MAX || typeOf(schema) === "json-only")
    return [fieldOf(schema, path, required)];
  const needed = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(properties).flatMap(([name, property]) =>
    schemaFields(isObject(property) ? property : {}, [...path, name], required && needed.includes(name)),
  );
}

function fieldOf(schema: JsonSchema, path: readonly string[], required: boolean): FormField {
  const choices = Array.isArray(schema["enum"]) ? schema["enum"].map((value) => JSON.stringify(value) ?? "null") : [];
  const found = typeOf(schema);
  const type: FieldType = choices.length > 0 ? "choice" : found === "json-only" ? "json" : found;
  const label = textOf(schema["title"]) || path.join(".") || "Input";
  const rules = rulesOf(schema);
  return {
    path,
    label,
    about: textOf(schema["description"]),
    type,
    required,
    initial: initialOf(schema["default"], type),
    choices,
    rules,
  };
}

function typeOf(schema: JsonSchema): Exclude<FieldType, "choice"> | "json-only" {
  if (["anyOf", "oneOf", "allOf", "$ref", "not", "if"].some((word) => Object.hasOwn(schema, word))) return "json-only";
  switch (schema["type"]) {
    case "string":
      return schema["format"] === "date-time" ? "date-time" : "text";
    case "number":
      return "number";
    case "integer":
      return "integer";
    case "boolean":
      return "boolean";
    default:
      return "json";
  }
}

function rulesOf(schema: JsonSchema): FieldRules {
  const rules: Record<string, unknown> = {};
  for (const name of ["minimum", "maximum", "minLength", "maxLength"])
    if (typeof schema[name] === "number") rules[name] = schema[name];
  if (typeof schema["pattern"] === "string") rules["pattern"] = schema["pattern"];
  return rules;
}

function initialOf(value: unknown, type: FieldType): string {
  if (value === undefined) return "";
  if (type === "json" || type === "choice") return JSON.stringify(value, null, type === "json" ? 2 : 0) ?? "";
  return typeof value === "string" ? value : String(value);
}

type Read = { readonly value: unknown } | { readonly problem: string };

function readField(field: FormField, text: string): Read {
  const { type, required, rules } = field;
  const blank = type === "text" ? text === "" : text.trim() === "";
  if (blank)
    return required && !(type === "json" && field.path.length === 0)
      ? { problem: "This is required." }
      : { value: undefined };
  switch (type) {
    case "text":
      return textProblem(text, rules) ?? { value: text };
    case "date-time":
      return Number.isNaN(Date.parse(text))
        ? { problem: "This is not a time: 2026-11-18T09:30:00Z." }
        : { value: text };
    case "number":
    case "integer":
      return readNumber(text, type, rules);
    case "boolean":
      return { value: text === "true" };
    case "choice":
    case "json": {
      const parsed = parseJsonText(text);
      if (parsed.ok) return { value: parsed.value };
      const { line, column, message } = parsed.mistake;
      return { problem: `Line ${line}, column ${column}: ${message}` };
    }
  }
}

function readNumber(text: string, type: "number" | "integer", { minimum, maximum }: FieldRules): Read {
  const value = Number(text);
  if (!Number.isFinite(value)) return { problem: "This is not a number." };
  if (type === "integer" && !Number.isInteger(value)) return { problem: "This must be a whole number." };
  if (minimum !== undefined && value < minimum) return { problem: `This must be at least ${minimum}.` };
  if (maximum !== undefined && value > maximum) return { problem: `This must be at most ${maximum}.` };
  return { value };
}

/** A pattern is not tried here: one that never ends would freeze the page, and the server checks it. */
function textProblem(text: string, { minLength, maxLength }: FieldRules): Read | null {
  if (minLength !== undefined && text.length < minLength)
    return { problem: `This must have at least ${minLength} characters.` };
  if (maxLength !== undefined && text.length > maxLength)
    return { problem: `This must have at most ${maxLength} characters.` };
  return null;
}

/** Defines rather than assigns: a field may be called `__proto__`. */
function put(root: { value: unknown }, path: readonly string[], value: unknown): void {
  if (path.length === 0) {
    root.value = value;
    return;
  }
  let at = root.value as Record<string, unknown>;
  for (const [depth, name] of path.entries()) {
    const own = Object.hasOwn(at, name) ? at[name] : undefined;
    const next = depth === path.length - 1 ? value : isObject(own) ? own : {};
    Object.defineProperty(at, name, { value: next, enumerable: true, configurable: true, writable: true });
    at = next as Record<string, unknown>;
  }
}

function wholeField(about: string): FormField {
  return { path: [], label: "Input", about, type: "json", required: false, initial: "", choices: [], rules: {} };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
