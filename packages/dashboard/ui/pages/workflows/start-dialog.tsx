import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Started, StartRequest, WorkflowPage } from "../../../src/api/api-messages.ts";
import { useAct, useNamespace } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { Segments } from "../../components/button.tsx";
import { JsonField, SelectField, TextField } from "../../components/fields.tsx";
import { pagePath } from "../../links.tsx";
import { parseJsonText } from "../../text/json-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { useStartPlace } from "../parts/start-place.tsx";
import { type FormField, fieldsOf, inputOf, type JsonSchema } from "./schema-form.ts";
import styles from "./workflows.module.css";

/** Starts a run, with a form from the schema of its input, or with JSON. */
export function StartDialog({ page, onClose }: { readonly page: WorkflowPage; readonly onClose: () => void }) {
  const act = useAct();
  const namespace = useNamespace();
  const navigate = useNavigate();
  const name = page.workflow.name;
  const input = useInput(page);
  const [id, setId] = useState("");
  const [version, setVersion] = useState("");
  const place = useStartPlace(name);
  const start = async () => {
    const request: StartRequest = {
      workflow: name,
      ...(input.text === "" ? {} : { input: input.text }),
      ...(id.trim() === "" ? {} : { id: id.trim() }),
      ...place.request,
      ...(version === "" ? {} : { version }),
    };
    const { runId } = await act<Started>("start", request);
    await navigate({ to: pagePath(namespace, "runs", runId) });
  };
  const versions = page.workflow.versions.map((row) => ({ value: row.version, label: `version ${row.version}` }));
  return (
    <ActionDialog
      open
      wide
      onClose={onClose}
      title={`Start ${safeLine(name)}`}
      description="A run starts at once. If there is already a run of that id, nothing new is started, and you get to that one."
      confirm="Start run"
      reason="none"
      ready={input.ready}
      done="The run was started"
      onConfirm={start}
    >
      <TextField label="Id" value={id} onChange={setId} hint="Left empty: a new one" />
      {versions.length > 1 ? (
        <SelectField
          label="Version"
          value={version}
          options={[{ value: "", label: "the default, or the canary" }, ...versions]}
          onChange={setVersion}
        />
      ) : null}
      {place.fields}
      {input.fields}
    </ActionDialog>
  );
}

function useInput(page: WorkflowPage) {
  const schema = isSchema(page.inputSchema) ? page.inputSchema : null;
  const fields = useMemo(() => fieldsOf(schema), [schema]);
  const [mode, setMode] = useState<"form" | "json">(schema === null ? "json" : "form");
  const [json, setJson] = useState(page.sampleInput ?? "");
  const [texts, setTexts] = useState(() => fields.map(({ initial }) => initial));
  const read = inputOf(fields, texts);
  const input = "input" in read ? read.input : undefined;
  const text = mode === "json" ? json.trim() : input === undefined ? "" : JSON.stringify(input);
  const ready = mode === "json" ? parseJsonText(json).ok : read.problems.length === 0;
  const change = (index: number, value: string) => setTexts((old) => old.with(index, value));
  const body = (
    <>
      {schema === null ? null : (
        <Segments
          label="Input as"
          value={mode}
          options={[
            { value: "form", label: "Form" },
            { value: "json", label: "JSON" },
          ]}
          onChange={setMode}
        />
      )}
      {mode === "json" ? (
        <JsonField label="Input" value={json} onChange={setJson} />
      ) : (
        <div className={styles.fields}>
          {fields.map((field, index) => (
            <SchemaField
              key={field.path.join(".")}
              field={field}
              text={texts[index] ?? ""}
              wrong={read.problems.find((one) => one.field === index)?.problem}
              onChange={(value) => change(index, value)}
            />
          ))}
        </div>
      )}
    </>
  );
  return { text, ready, fields: body };
}

interface SchemaFieldProps {
  readonly field: FormField;
  readonly text: string;
  readonly wrong: string | undefined;
  readonly onChange: (text: string) => void;
}

function SchemaField({ field, text, wrong, onChange }: SchemaFieldProps) {
  const { type, required, choices } = field;
  const label = `${safeLine(field.label)}${required ? "" : " (optional)"}`;
  const about = safeLine(field.about);
  // What is missing is said when somebody has typed something: an empty form is not full of mistakes.
  const shown = text === "" ? undefined : wrong;
  if (type === "json") return <JsonField label={label} value={text} onChange={onChange} hint={about || "JSON"} />;
  if (type === "choice" || type === "boolean") {
    const values = type === "boolean" ? ["true", "false"] : choices;
    const options = values.map((value) => ({ value, label: safeLine(value) }));
    return (
      <SelectField
        label={label}
        value={text}
        options={[{ value: "", label: "–" }, ...options]}
        onChange={onChange}
        hint={about}
      />
    );
  }
  return <TextField label={label} value={text} onChange={onChange} hint={about} wrong={shown} required={required} />;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
