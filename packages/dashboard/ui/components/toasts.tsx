// Short messages at the edge of the page. The region for what was done is always there, so that what appears in it is announced; an alert is announced when it appears.
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from "react";
import { IconButton } from "./button.tsx";
import styles from "./toasts.module.css";

export interface Toasts {
  /** Says that something was done. */
  readonly done: (text: string) => void;
  /** Says that something did not work, and what to do; stays longer. */
  readonly failed: (text: string) => void;
}

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly failed: boolean;
}

const DONE_MS = 6000;
const FAILED_MS = 12_000;
const SHOWN_MAX = 3;

const ToastContext = createContext<Toasts>({ done: () => {}, failed: () => {} });

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const next = useRef(0);
  const remove = useCallback((id: number) => setToasts((old) => old.filter((toast) => toast.id !== id)), []);
  const api = useMemo((): Toasts => {
    const add = (text: string, failed: boolean) => {
      const id = next.current++;
      setToasts((old) => [...old, { id, text, failed }].slice(-SHOWN_MAX));
      setTimeout(() => remove(id), failed ? FAILED_MS : DONE_MS);
    };
    return { done: (text) => add(text, false), failed: (text) => add(text, true) };
  }, [remove]);
  return (
    <ToastContext value={api}>
      {children}
      <div className={styles.viewport}>
        {toasts.some(({ failed }) => failed) ? (
          <div role="alert">
            <ToastList toasts={toasts.filter(({ failed }) => failed)} onRemove={remove} />
          </div>
        ) : null}
        <div role="status">
          <ToastList toasts={toasts.filter(({ failed }) => !failed)} onRemove={remove} />
        </div>
      </div>
    </ToastContext>
  );
}

export function useToasts(): Toasts {
  return useContext(ToastContext);
}

function ToastList({
  toasts,
  onRemove,
}: {
  readonly toasts: readonly Toast[];
  readonly onRemove: (id: number) => void;
}) {
  return toasts.map(({ id, text, failed }) => (
    <div key={id} className={`${styles.toast} ${failed ? styles.failed : ""}`}>
      <p>{text}</p>
      <IconButton label="Dismiss" icon="x" small onClick={() => onRemove(id)} />
    </div>
  ));
}
