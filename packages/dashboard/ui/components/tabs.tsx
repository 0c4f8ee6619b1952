import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef } from "react";
import styles from "./tabs.module.css";

export interface Tab<Id extends string> {
  readonly id: Id;
  readonly label: string;
  /** A number beside the label. */
  readonly count?: ReactNode;
}

export interface TabsProps<Id extends string> {
  /** The accessible name of the list. */
  readonly label: string;
  readonly tabs: readonly Tab<Id>[];
  readonly value: Id;
  readonly onChange: (id: Id) => void;
  /** The panel of the current tab. */
  readonly children: ReactNode;
}

/** Tabs whose choice belongs in the URL: keep `value` in `?tab=`. Arrows move between them, Enter and Space choose. */
export function Tabs<Id extends string>({ label, tabs, value, onChange, children }: TabsProps<Id>) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  // On a narrow screen the list scrolls; the current tab must not be outside.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is current
  useEffect(() => {
    const bar = list.current;
    const current = bar?.querySelector("[aria-selected=true]");
    if (bar === null || current == null) return;
    const [seen, is] = [bar.getBoundingClientRect(), current.getBoundingClientRect()];
    if (is.right > seen.right) bar.scrollLeft += is.right - seen.right;
    else if (is.left < seen.left) bar.scrollLeft -= seen.left - is.left;
  }, [value]);
  const move = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll<HTMLButtonElement>("[role=tab]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  };
  return (
    <>
      <div ref={list} role="tablist" aria-label={label} className={styles.list} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            id={`${id}-${tab.id}`}
            type="button"
            role="tab"
            className={styles.tab}
            aria-selected={tab.id === value}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === value ? 0 : -1}
            onClick={() => onChange(tab.id)}
          >
            {tab.label}
            {tab.count === undefined ? null : <span> {tab.count}</span>}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${value}`} className={styles.panel} tabIndex={-1}>
        {children}
      </div>
    </>
  );
}
