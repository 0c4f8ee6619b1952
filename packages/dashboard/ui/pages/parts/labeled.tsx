import type { ReactNode } from "react";
import styles from "./labeled.module.css";

/** A figure of a table. On a narrow screen, where there is no header, its name stands beside it. */
export function Labeled({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      {children}
      <span className={styles.label} aria-hidden="true">
        {" "}
        {name}
      </span>
    </>
  );
}
