import styles from "./icon.module.css";
import type { IconName } from "./sprite.tsx";

/** A decorative picture; the word beside it, or the label of the button around it, says what it means. */
export function Icon({ name, size }: { readonly name: IconName; readonly size?: "small" | "large" | undefined }) {
  return (
    <svg className={`${styles.icon} ${size === undefined ? "" : styles[size]}`} aria-hidden="true">
      <use href={`#i-${name}`} />
    </svg>
  );
}
