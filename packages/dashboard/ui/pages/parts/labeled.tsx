import type { ReactNode } from "react";
import styles from "./labeled.module.css";

/** There is no such figure. */
export const NONE = "–";

/** A figure of a table. On a narrow screen, where there is no header, its name stands beside it. */
export function Labeled({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  // A name beside a dash would say less than nothing.
  if (children === NONE) return <span className={styles.none}>{NONE}</span>;
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
