import type { ErrorShown } from "../../../src/api/api-messages.ts";
import { safeLine, safeText } from "../../text/safe-text.ts";
import styles from "./run.module.css";

/** "RateLimitExceeded: 429 from bank". */
export function errorLine(error: ErrorShown): string {
  const name = error.name === "Error" ? (error.code ?? error.kind) : error.name;
  return safeLine(error.message.startsWith(name) ? error.message : `${name}: ${error.message}`);
}

/** An error with its stack and its causes, folded. */
export function ErrorView({ error }: { readonly error: ErrorShown }) {
  return (
    <div className={styles.error}>
      <strong>{errorLine(error)}</strong>
      <small>
        {error.kind}
        {error.code === undefined ? "" : ` · ${safeLine(error.code)}`}
        {error.op === undefined ? "" : ` · op ${safeLine(error.op)}`}
        {error.attempts === undefined ? "" : ` · ${error.attempts} attempts`}
      </small>
      {error.stack === undefined ? null : (
        <details>
          <summary>Stack</summary>
          <pre tabIndex={0}>{safeText(error.stack)}</pre>
        </details>
      )}
      {error.cause === undefined ? null : (
        <details>
          <summary>Caused by {errorLine(error.cause)}</summary>
          <ErrorView error={error.cause} />
        </details>
      )}
    </div>
  );
}
