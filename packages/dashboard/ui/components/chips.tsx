import type { ReactNode } from "react";
import styles from "./chips.module.css";
import { Icon } from "./icon.tsx";

export interface ChipProps {
  /** "status is" */
  readonly name: string;
  readonly value: ReactNode;
  /** For the button that takes it away: "Remove status filter". */
  readonly removeLabel: string;
  readonly onRemove: () => void;
  /** Makes the value a button, to change it. */
  readonly onEdit?: () => void;
}

/** One condition of a filter. */
export function Chip({ name, value, removeLabel, onRemove, onEdit }: ChipProps) {
  return (
    <span className={styles.chip}>
      <span className={styles.name}>{name}</span>
      {onEdit === undefined ? (
        <b className={styles.value}>{value}</b>
      ) : (
        <button type="button" className={styles.value} onClick={onEdit}>
          {value}
        </button>
      )}
      <button type="button" className={styles.remove} aria-label={removeLabel} title={removeLabel} onClick={onRemove}>
        <Icon name="x" size="small" />
      </button>
    </span>
  );
}

/** The row of chips and the buttons beside them. */
export function Chips({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <fieldset className={styles.chips} aria-label={label}>
      {children}
    </fieldset>
  );
}

/** A small gray label, as for an attribute. */
export function Tag({ children, title }: { readonly children: ReactNode; readonly title?: string }) {
  return (
    <span className={styles.tag} title={title}>
      {children}
    </span>
  );
}
