import { Menu as BaseMenu } from "@base-ui/react/menu";
import type { ReactNode } from "react";
import { type ButtonLook, buttonClass } from "./button.tsx";
import { Icon } from "./icon.tsx";
import styles from "./menu.module.css";

export interface MenuItem {
  readonly label: ReactNode;
  readonly onSelect: () => void;
  /** Beside the label, in a softer color. */
  readonly hint?: ReactNode;
  /** Marks the current choice. */
  readonly checked?: boolean;
  readonly disabled?: boolean;
  /** A line above it. */
  readonly separated?: boolean;
}

export interface MenuProps extends ButtonLook {
  /** What the button shows. */
  readonly label: ReactNode;
  /** For a button whose text does not say what it is. */
  readonly accessibleName?: string;
  readonly items: readonly MenuItem[];
  readonly disabled?: boolean;
}

/** A button that opens a list of actions. */
export function Menu({ label, accessibleName, items, disabled, ...look }: MenuProps) {
  return (
    <BaseMenu.Root modal={false}>
      <BaseMenu.Trigger className={buttonClass(look)} aria-label={accessibleName} disabled={disabled ?? false}>
        {look.icon === undefined ? null : <Icon name={look.icon} />}
        {label}
        <Icon name="down" size="small" />
      </BaseMenu.Trigger>
      <BaseMenu.Portal>
        <BaseMenu.Positioner className={styles.positioner} sideOffset={4} align="end" collisionPadding={8}>
          <BaseMenu.Popup className={styles.popup}>
            {items.map((item, index) => (
              <MenuRow key={`${index}-${typeof item.label === "string" ? item.label : ""}`} item={item} />
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

function MenuRow({ item }: { readonly item: MenuItem }) {
  return (
    <>
      {item.separated ? <BaseMenu.Separator className={styles.line} /> : null}
      <BaseMenu.Item className={styles.item} onClick={item.onSelect} disabled={item.disabled ?? false}>
        <span className={styles.mark}>{item.checked ? <Icon name="check" size="small" /> : null}</span>
        <span className={styles.label}>{item.label}</span>
        {item.checked ? <span className="vh">(current)</span> : null}
        {item.hint === undefined ? null : <span className={styles.hint}>{item.hint}</span>}
      </BaseMenu.Item>
    </>
  );
}
