import styles from "./sparkline.module.css";

export interface SparklineProps {
  readonly values: readonly number[];
  /** What it shows, in words: "Runs started per minute, 60 minutes, most 41". */
  readonly label: string;
  /** @defaultValue "accent" */
  readonly color?: "accent" | "failed" | "completed" | "waiting" | "running";
}

const WIDTH = 120;
const HEIGHT = 28;

/** A small line without axes; the figure beside it says how much. */
export function Sparkline({ values, label, color }: SparklineProps) {
  const most = Math.max(1, ...values);
  const step = values.length > 1 ? WIDTH / (values.length - 1) : WIDTH;
  const points = values.map((value, index) => {
    const y = HEIGHT - 2 - (value / most) * (HEIGHT - 4);
    return `${(index * step).toFixed(1)},${y.toFixed(1)}`;
  });
  const area = `0,${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}`;
  return (
    <svg
      className={`${styles.sparkline} ${styles[color ?? "accent"]}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <polygon points={area} />
      <polyline points={points.join(" ")} />
    </svg>
  );
}
