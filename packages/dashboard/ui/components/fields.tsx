import { type ReactNode, useId } from "react";
import { parseJsonText } from "../text/json-text.ts";
import styles from "./dialog.module.css";

export interface FieldProps {
  readonly label: ReactNode;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: ReactNode;
  readonly wrong?: string | undefined;
  readonly required?: boolean;
  readonly autoFocus?: boolean;
  readonly placeholder?: string;
  readonly type?: "text" | "number" | "password" | "datetime-local";
}

/** One line of text with its label. */
export function TextField({ label, value, onChange, hint, wrong, type, autoFocus, ...rest }: FieldProps) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      <input
        {...rest}
        id={id}
        className={styles.input}
        type={type ?? "text"}
        value={value}
        autoComplete="off"
        spellCheck={false}
        data-autofocus={autoFocus ? "" : undefined}
        aria-invalid={wrong !== undefined}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChange(event.target.value)}
      />
      <FieldNote id={`${id}-note`} hint={hint} wrong={wrong} />
    </div>
  );
}

/** JSON in a text area. Says line and column of what is wrong; `value` stays what was typed. */
export function JsonField({ label, value, onChange, hint, wrong, required, placeholder }: FieldProps) {
  const id = useId();
  const parsed = parseJsonText(value);
  const mistake = parsed.ok
    ? wrong
    : `Line ${parsed.mistake.line}, column ${parsed.mistake.column}: ${parsed.mistake.message}`;
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      <textarea
        id={id}
        className={styles.area}
        value={value}
        rows={5}
        required={required}
        placeholder={placeholder}
        spellCheck={false}
        aria-invalid={mistake !== undefined}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChange(event.target.value)}
      />
      <FieldNote id={`${id}-note`} hint={hint ?? "JSON; leave it empty for none"} wrong={mistake} />
    </div>
  );
}

export interface SelectFieldProps {
  readonly label: ReactNode;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly onChange: (value: string) => void;
  readonly hint?: ReactNode;
}

export function SelectField({ label, value, options, onChange, hint }: SelectFieldProps) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      <select
        id={id}
        className={styles.select}
        value={value}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChange(event.target.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      <FieldNote id={`${id}-note`} hint={hint} />
    </div>
  );
}

function FieldNote(props: { readonly id: string; readonly hint?: ReactNode; readonly wrong?: string | undefined }) {
  const { id, hint, wrong } = props;
  return (
    <span id={id} className={wrong === undefined ? styles.hint : styles.wrong}>
      {wrong ?? hint}
    </span>
  );
}
