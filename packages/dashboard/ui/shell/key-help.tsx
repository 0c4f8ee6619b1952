import { Dialog } from "../components/dialog.tsx";
import { keyActions } from "./keys.ts";
import styles from "./shell.module.css";

const SHOWN: Readonly<Record<string, string>> = { Enter: "↵" };

export function KeyHelp({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Keys">
      <dl className={styles.keys}>
        {open
          ? keyActions().map(({ key, what }) => (
              <div key={key}>
                <dt>
                  <kbd>{SHOWN[key] ?? key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))
          : null}
      </dl>
    </Dialog>
  );
}
