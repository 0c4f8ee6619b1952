import type { ErrorShown } from "../../../src/api/api-messages.ts";
import { countOf } from "../../text/count-text.ts";
import { safeLine, safeText } from "../../text/safe-text.ts";
import styles from "./run.module.css";

/** "RateLimitExceeded: 429 from bank". */
export function errorLine(error: ErrorShown): string {
  const name = error.name === "Error" ? (error.code ?? "") : error.name;
  // Errors of ours are whole sentences, and "Error" says nothing.
  const plain = name === "" || name === "HoldfastError" || error.message.startsWith(name);
  return safeLine(plain ? error.message : `${name}: ${error.message}`);
}

/** An error with its stack and its causes, folded. */
export function ErrorView({ error }: { readonly error: ErrorShown }) {
  return (
    <div className={styles.error}>
      <strong>{errorLine(error)}</strong>
      <small>
        {[
          // What a kind is called that says nothing.
          error.kind === "Unknown" ? "" : error.kind,
          error.code ?? "",
          error.op === undefined ? "" : `op ${error.op}`,
          error.attempts === undefined ? "" : countOf(error.attempts, "attempt"),
        ]
          .filter((part) => part !== "")
          .map(safeLine)
          .join(" · ")}
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
