import type { ReactNode } from "react";
import styles from "./meter.module.css";

export interface MeterProps {
  /** 0 to 1; what is beyond is shown as full. */
  readonly share: number;
  /** The figure beside the bar: nobody needs the bar to read it. */
  readonly children: ReactNode;
  /** Marks it from this share on. */
  readonly markFrom?: number;
}

/** A small bar and its figure. */
export function Meter({ share, children, markFrom }: MeterProps) {
  const shown = Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 0;
  const full = markFrom !== undefined && shown >= markFrom;
  return (
    <span className={styles.meter}>
      <span className={styles.track} aria-hidden="true">
        <span className={`${styles.fill} ${full ? styles.full : ""}`} style={{ "--share": shown } as object} />
      </span>
      <span>{children}</span>
    </span>
  );
}
