export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** A promise that the test resolves. */
export function gate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** What never comes. */
export const NEVER = new Promise<never>(() => {});
