// A value of a run. It is hostile: it becomes text nodes, colored by what its characters are, and nothing else.
import { Fragment, type ReactNode, useState } from "react";
import type { ShownValue } from "../../src/api/api-messages.ts";
import { bytesText } from "../text/count-text.ts";
import { type JsonToken, jsonTokens } from "../text/json-tokens.ts";
import { safeLine, safeText } from "../text/safe-text.ts";
import { IconButton } from "./button.tsx";
import { useCopy } from "./copy-as.tsx";
import { EncryptedPayload } from "./encrypted-payload.tsx";
import styles from "./payload.module.css";

const INSTEAD: Readonly<Record<Exclude<ShownValue["form"], "json" | "redacted">, string>> = {
  none: "none",
  hidden: "hidden: you may not see payloads",
  encrypted: "encrypted",
  binary: "binary",
  unreadable: "cannot be decoded",
};

/** Above this many characters, text is shown without colors: each color is an element. */
const COLORED_CHARACTERS = 20_000;

export interface PayloadProps {
  readonly value: ShownValue;
  /** Its accessible name, and what the copy button copies: "Result". */
  readonly label: string;
  /** Below it: how to get the rest. */
  readonly more?: ReactNode;
}

/** A block with the value, its size and a copy button. */
export function Payload({ value: given, label, more }: PayloadProps) {
  const copy = useCopy();
  const [decoded, setDecoded] = useState<{ readonly of: string; readonly value: ShownValue }>();
  const value = decoded?.of === given.text ? decoded.value : given;
  if (value.form === "encrypted") {
    return (
      <EncryptedPayload value={value} label={label} onDecoded={(text) => setDecoded({ of: given.text, value: text })} />
    );
  }
  const shown = value.form === "json" || value.form === "redacted";
  if (!shown) {
    return (
      <p className={styles.instead}>
        {INSTEAD[value.form]}
        {value.form === "none" ? "" : `, ${bytesText(value.bytes)}`}
      </p>
    );
  }
  return (
    <div className={styles.payload}>
      <pre tabIndex={0} aria-label={label} role="group">
        <JsonText text={value.text} />
        {value.truncated ? "…" : ""}
      </pre>
      <div className={styles.copy}>
        <IconButton
          label={`Copy ${label.toLowerCase()}`}
          icon="copy"
          small
          onClick={() => copy(value.text, label.toLowerCase())}
        />
      </div>
      {value.truncated || more !== undefined ? (
        <p className={styles.more}>
          {value.truncated ? `The beginning of ${bytesText(value.bytes)}. ` : ""}
          {more}
        </p>
      ) : null}
    </div>
  );
}

/** The value in one line, for lists. */
export function PayloadLine({ value }: { readonly value: ShownValue }) {
  if (value.form !== "json" && value.form !== "redacted") return <span className="faint">{INSTEAD[value.form]}</span>;
  const line = value.text.replace(/\s*\n\s*/g, " ");
  return (
    <code>
      {safeLine(line)}
      {value.truncated ? "…" : ""}
    </code>
  );
}

/** JSON with colors. */
export function JsonText({ text }: { readonly text: string }) {
  if (text.length > COLORED_CHARACTERS) return safeText(text);
  const tokens = jsonTokens(text);
  return tokens.map((token, index) => <Token key={`${index}-${token.kind}`} token={token} />);
}

function Token({ token: { kind, text } }: { readonly token: JsonToken }) {
  const safe = safeText(text);
  if (kind === "other") return <Fragment>{safe}</Fragment>;
  return <span className={styles[kind]}>{safe}</span>;
}
