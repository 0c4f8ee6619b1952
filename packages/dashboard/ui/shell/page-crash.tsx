import type { ErrorComponentProps } from "@tanstack/react-router";
import { Failure } from "../components/answers.tsx";

/** What is shown instead of a page that failed: the rest of the dashboard goes on working. */
export function PageCrash({ error, reset }: ErrorComponentProps) {
  return (
    <>
      <h1>This page failed</h1>
      <Failure error={error} onRetry={reset} />
    </>
  );
}
