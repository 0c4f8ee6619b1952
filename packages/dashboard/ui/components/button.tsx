import type { ComponentProps, ReactNode } from "react";
import styles from "./button.module.css";
import { Icon } from "./icon.tsx";
import type { IconName } from "./sprite.tsx";

export interface ButtonLook {
  /** @defaultValue "normal" */
  readonly kind?: "normal" | "primary" | "quiet" | "danger" | undefined;
  readonly small?: boolean | undefined;
  readonly icon?: IconName | undefined;
}

export type ButtonProps = ButtonLook & Omit<ComponentProps<"button">, "className">;

/** Also takes every attribute of a button. `type` is "button" unless told otherwise. */
export function Button({ kind, small, icon, children, type, ...rest }: ButtonProps) {
  return (
    <button {...rest} type={type ?? "button"} className={buttonClass({ kind, small })}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A square button with a picture only; `label` is its accessible name. */
export function IconButton({
  label,
  icon,
  ...rest
}: { readonly label: string; readonly icon: IconName } & ButtonProps) {
  return (
    <Button kind="quiet" {...rest} aria-label={label} title={label}>
      <Icon name={icon} />
    </Button>
  );
}

/** The classes, for links that look like buttons and for triggers of menus. */
export function buttonClass({ kind, small }: ButtonLook = {}): string {
  return [styles.button, kind === undefined || kind === "normal" ? "" : styles[kind], small ? styles.small : ""]
    .filter((name) => name !== "")
    .join(" ");
}

export interface Segment<Value extends string> {
  readonly value: Value;
  readonly label: ReactNode;
}

export interface SegmentsProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly Segment<Value>[];
  readonly onChange: (value: Value) => void;
}

/** A choice of few, side by side. */
export function Segments<Value extends string>({ label, value, options, onChange }: SegmentsProps<Value>) {
  return (
    <fieldset className={styles.segments} aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}
