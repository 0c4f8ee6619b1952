import { type FormEvent, useState } from "react";
import { writeApi } from "../api/api-client.ts";
import { messageOf } from "../api/api-error.ts";
import { Button } from "../components/button.tsx";
import { TextField } from "../components/fields.tsx";
import { usePageTitle } from "../components/page.tsx";
import styles from "./shell.module.css";

/** The form to log in with an API key. The key goes to the server once and is kept nowhere here. */
export function Login({ ended, onDone }: { readonly ended: boolean; readonly onDone: () => void }) {
  usePageTitle("Sign in");
  const [key, setKey] = useState("");
  const [wrong, setWrong] = useState<string>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await writeApi("login", { key: key.trim() });
      onDone();
    } catch (error) {
      setWrong(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className={styles.outside}>
      <form className={styles.login} onSubmit={(event) => void submit(event)}>
        <p className={styles.brand}>
          <svg aria-hidden="true">
            <use href="#i-logo" />
          </svg>
          Holdfast
        </p>
        <h1>Sign in</h1>
        {ended ? <p role="status">Your session has ended, or its key was revoked. Sign in to go on.</p> : null}
        <TextField label="API key" type="password" value={key} onChange={setKey} wrong={wrong} required />
        <Button kind="primary" type="submit" disabled={busy || key.trim() === ""}>
          Sign in
        </Button>
        <p className="faint">
          Make one with <code>holdfast token create --role writer</code>
        </p>
      </form>
    </main>
  );
}
