// Asks who is there; shows the form to log in, or the dashboard.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useState } from "react";
import { readApi } from "../api/api-client.ts";
import type { ApiError } from "../api/api-error.ts";
import { type Session, SessionProvider } from "../api/session.tsx";
import { Failure, Loading } from "../components/answers.tsx";
import { Sprite } from "../components/sprite.tsx";
import { dashboardRouter } from "../router.tsx";
import { Login } from "./login.tsx";
import styles from "./shell.module.css";

export function Entrance() {
  const client = useQueryClient();
  const session = useQuery<Session, ApiError>({
    queryKey: ["session"],
    queryFn: () => readApi<Session>("session"),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return (
    <>
      <Sprite />
      {session.data === undefined ? (
        <Outside error={session.error} onRetry={() => void client.invalidateQueries({ queryKey: ["session"] })} />
      ) : (
        <Inside key={session.data.user} session={session.data} />
      )}
    </>
  );
}

function Outside({ error, onRetry }: { readonly error: ApiError | null; readonly onRetry: () => void }) {
  if (error === null) return <Loading rows={3} />;
  if (error.status === 401 && error.login) return <Login onDone={onRetry} />;
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
