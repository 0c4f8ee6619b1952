// Asks who is there; shows the form to log in, or the dashboard.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { readApi } from "../api/api-client.ts";
import type { ApiError } from "../api/api-error.ts";
import { SESSION_KEY, type Session, SessionProvider } from "../api/session.tsx";
import { Failure, Loading } from "../components/answers.tsx";
import { Sprite } from "../components/sprite.tsx";
import { dashboardRouter } from "../router.tsx";
import styles from "./shell.module.css";

// Whoever has a session never sees it.
const Login = lazy(async () => ({ default: (await import("./login.tsx")).Login }));

export function Entrance() {
  const client = useQueryClient();
  const session = useQuery<Session, ApiError>({
    queryKey: SESSION_KEY,
    queryFn: () => readApi<Session>("session"),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const shutOut = session.error?.status === 401;
  const ask = () => {
    // What was read before is not for whoever comes next.
    if (shutOut) client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
    void client.invalidateQueries({ queryKey: SESSION_KEY });
  };
  return (
    <>
      <Sprite />
      {session.data === undefined || shutOut ? (
        <Outside error={session.error} ended={session.data !== undefined} onRetry={ask} />
      ) : (
        <Inside key={session.data.user} session={session.data} />
      )}
    </>
  );
}

interface OutsideProps {
  readonly error: ApiError | null;
  /** They were inside. */
  readonly ended: boolean;
  readonly onRetry: () => void;
}

function Outside({ error, ended, onRetry }: OutsideProps) {
  if (error === null) return <Loading rows={3} />;
  if (error.status === 401 && error.login)
    return (
      <Suspense fallback={<Loading rows={3} />}>
        <Login ended={ended} onDone={onRetry} />
      </Suspense>
    );
  return (
    <main className={styles.outside}>
      <h1>Holdfast</h1>
      <Failure error={error} onRetry={onRetry} />
    </main>
  );
}

function Inside({ session }: { readonly session: Session }) {
  const [router] = useState(() => dashboardRouter(session));
  return (
    <SessionProvider session={session}>
      <RouterProvider router={router} />
    </SessionProvider>
  );
}
