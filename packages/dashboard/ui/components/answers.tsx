// What a page shows instead of, or above, its data: loading, empty, an error, a lost connection.
import { type ReactNode, useEffect, useState } from "react";
import { messageOf } from "../api/api-error.ts";
import type { Read } from "../api/reads.ts";
import styles from "./answers.module.css";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { Time } from "./time.tsx";

/** Gray rows; nothing for the first 200 ms, so that a quick answer does not flicker. */
export function Loading({ rows }: { readonly rows?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className={styles.loading} role="status">
      <span className="vh">Loading</span>
      {late ? Array.from({ length: rows ?? 6 }, (_, row) => <i key={row} />) : null}
    </div>
  );
}

/** Nothing is there; `children` says what to do or to type. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className={styles.empty}>
      <p className={styles.title}>{title}</p>
      {children === undefined ? null : <div className={styles.hint}>{children}</div>}
    </div>
  );
}

/** A shell command to try, in an empty state. */
export function Command({ children }: { readonly children: string }) {
  return <code className={styles.command}>{children}</code>;
}

/** It did not work: what happened, and the button to try again. */
export function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  return (
    <div className={styles.failure} role="alert">
      <Icon name="warn" />
      <p>{messageOf(error)}</p>
      {onRetry === undefined ? null : (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Data is shown, but it is old: "Data from 16:13:02, retrying in 4 s". */
export function Lost({ at, retryMs }: { readonly at: number; readonly retryMs: number }) {
  const [left, setLeft] = useState(Math.ceil(retryMs / 1000));
  useEffect(() => {
    setLeft(Math.ceil(retryMs / 1000));
    const timer = setInterval(() => setLeft((now) => (now <= 1 ? Math.ceil(retryMs / 1000) : now - 1)), 1000);
    return () => clearInterval(timer);
  }, [retryMs]);
  return (
    <div className={styles.lost} role="status">
      <Icon name="warn" />
      <span>
        Data from <Time at={at} form="clock" />, retrying
        {/* Seconds that count down are not to be read out one by one. */}
        <span aria-hidden="true"> in {left} s</span>
      </span>
    </div>
  );
}

export interface AnswerProps<T> {
  readonly read: Read<T>;
  /** Shown instead of the children when there is nothing. */
  readonly empty?: ReactNode;
  /** @defaultValue data is an empty array */
  readonly isEmpty?: (data: T) => boolean;
  readonly rows?: number;
  readonly children: (data: T) => ReactNode;
}

/** The states of a read in order: loading, error, empty, data; above old data, that it is old. */
export function Answer<T>({ read, empty, isEmpty, rows, children }: AnswerProps<T>) {
  const { data, error, dataUpdatedAt, refetch } = read;
  if (data === undefined) {
    if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
    return <Loading {...(rows === undefined ? {} : { rows })} />;
  }
  const nothing = isEmpty === undefined ? Array.isArray(data) && data.length === 0 : isEmpty(data);
  return (
    <>
      <LostAbove read={read} at={dataUpdatedAt} />
      {nothing && empty !== undefined ? empty : children(data)}
    </>
  );
}

const RETRY_MS = 4000;

function LostAbove<T>({ read, at }: { readonly read: Read<T>; readonly at: number }) {
  const { error, failureCount, refetch } = read;
  const failing = error !== null || failureCount > 0;
  useEffect(() => {
    if (!failing) return;
    const timer = setInterval(() => void refetch(), RETRY_MS);
    return () => clearInterval(timer);
  }, [failing, refetch]);
  return failing ? <Lost at={at} retryMs={RETRY_MS} /> : null;
}
