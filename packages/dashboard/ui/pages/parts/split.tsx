// A list, and beside it what is selected in it. On a narrow screen what is selected comes first.
import { type ReactNode, useEffect, useRef } from "react";
import { IconButton } from "../../components/button.tsx";
import styles from "./split.module.css";

export interface SplitProps {
  readonly children: ReactNode;
  /** What is selected; left out: nothing is. */
  readonly aside?: ReactNode;
}

export function Split({ children, aside }: SplitProps) {
  return (
    <div className={`${styles.split} ${aside ? styles.open : ""}`}>
      <div>{children}</div>
      {aside}
    </div>
  );
}

export interface InspectorProps {
  /** What it is about, for those who cannot see that it stands beside the list: "Selected worker". */
  readonly label: string;
  readonly title: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function Inspector({ label, title, onClose, children }: InspectorProps) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    // Beside the list it is in sight; above it, on a narrow screen, it may not be.
    if (matchMedia("(max-width: 1080px)").matches) place.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <aside ref={place} className={styles.aside} aria-label={label}>
      <header className={styles.head}>
        <h2>{title}</h2>
        <IconButton label="Close" icon="x" onClick={onClose} />
      </header>
      {children}
    </aside>
  );
}

export function InspectorSection({ title, children }: { readonly title?: string; readonly children: ReactNode }) {
  return (
    <section className={styles.section}>
      {title === undefined ? null : <h3>{title}</h3>}
      {children}
    </section>
  );
}
