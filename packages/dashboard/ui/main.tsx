import "./design/tokens.css";
import "./design/base.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/api-error.ts";
import { SESSION_KEY } from "./api/session.tsx";
import { ZoneProvider } from "./components/time-settings.tsx";
import { ToastProvider } from "./components/toasts.tsx";
import { Entrance } from "./shell/entrance.tsx";
import { applyTheme } from "./shell/theme.ts";

const client: QueryClient = new QueryClient({
  // Whoever is not let in any more is asked to sign in, whatever the page was reading.
  queryCache: new QueryCache({
    onError(error, { queryKey }) {
      const isOut = error instanceof ApiError && error.status === 401 && queryKey[0] !== SESSION_KEY[0];
      if (isOut) void client.invalidateQueries({ queryKey: SESSION_KEY });
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 1000,
      gcTime: 60_000,
      // What the server refuses it refuses again.
      retry: (count, error) => count < 2 && error instanceof ApiError && error.mayPass,
      retryDelay: (count) => 500 * 2 ** count,
      structuralSharing: false,
    },
  },
});

applyTheme();
const place = document.getElementById("root");
if (place === null) throw new Error("index.html has no element with the id root");
createRoot(place).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={client}>
        <ZoneProvider>
          <ToastProvider>
            <Entrance />
          </ToastProvider>
        </ZoneProvider>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
