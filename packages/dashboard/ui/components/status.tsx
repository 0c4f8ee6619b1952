// A state is always a shape, a word and a color, so that nobody needs the color. Names come from a closed set: what a store
// says never becomes the name of a class.
import styles from "./status.module.css";

export const STATES = [
  "pending",
  "running",
  "sleeping",
  "waiting",
  "retrying",
  "compensating",
  "parked",
  "completed",
  "failed",
  "canceled",
  "terminated",
  "timed_out",
  "continued",
  "moved",
] as const;
export type State = (typeof STATES)[number];

/** The words that people read. */
const WORDS: Readonly<Partial<Record<State, string>>> = { timed_out: "timed out" };

export function isState(value: unknown): value is State {
  return STATES.some((state) => state === value);
}

/** `pending` for a word that this version does not know. */
export function stateOf(value: unknown): State {
  if (value === "cancelled") return "canceled";
  return isState(value) ? value : "pending";
}

export function wordOf(state: State): string {
  return WORDS[state] ?? state;
}

export interface StatusProps {
  readonly value: State;
  /** Instead of the word of the state: "paused" for a parked run that a person paused. */
  readonly word?: string | undefined;
  /** With a soft background, as in the header of a run. */
  readonly badge?: boolean;
}

/** Shape and word. */
export function Status({ value, word, badge }: StatusProps) {
  return (
    <span className={`${styles.status} ${styles[value]} ${badge ? styles.badge : ""}`}>
      <Shape value={value} />
      {word ?? wordOf(value)}
    </span>
  );
}

/** The shape alone, with the word as its accessible name: where the word is already beside it, pass `hidden`. */
export function StatusGlyph(props: { readonly value: State; readonly hidden?: boolean; readonly label?: string }) {
  const { value, hidden, label } = props;
  if (hidden) {
    return (
      <span className={`${styles.status} ${styles[value]}`}>
        <Shape value={value} />
      </span>
    );
  }
  return (
    <span className={`${styles.status} ${styles[value]}`} role="img" aria-label={label ?? wordOf(value)}>
      <Shape value={value} />
    </span>
  );
}

function Shape({ value }: { readonly value: State }) {
  return (
    <svg aria-hidden="true">
      <use href={`#s-${value === "moved" ? "continued" : value}`} />
    </svg>
  );
}
