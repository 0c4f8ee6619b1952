import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import { buttonClass } from "./button.tsx";
import styles from "./dialog.module.css";

export interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  /** What will happen. */
  readonly description?: ReactNode;
  readonly children?: ReactNode;
  /** The buttons beside Close. */
  readonly actions?: ReactNode;
  readonly wide?: boolean;
}

/** A window above the page. Its dismiss button is always called Close. */
export function Dialog({ open, onClose, title, description, children, actions, wide }: DialogProps) {
  return (
    <BaseDialog.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={styles.veil} />
        <BaseDialog.Popup data-modal="" className={`${styles.popup} ${wide ? styles.wide : ""}`}>
          <BaseDialog.Title className={styles.title}>{title}</BaseDialog.Title>
          <div className={styles.body}>
            {description === undefined ? null : (
              <BaseDialog.Description render={<div />} className={styles.description}>
                {description}
              </BaseDialog.Description>
            )}
            {children}
          </div>
          <footer className={styles.foot}>
            <BaseDialog.Close className={buttonClass()}>Close</BaseDialog.Close>
            {actions}
          </footer>
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}
