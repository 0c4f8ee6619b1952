// One route per page, each in a chunk of its own. `/` leads to the namespace that was used last.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import type { ReactNode } from "react";
import { mountPath } from "./api/api-client.ts";
import { readSetting } from "./components/time-settings.tsx";
import { parseSearch, searchText } from "./search-state.ts";
import { NotFound } from "./shell/not-found.tsx";
import { PageCrash } from "./shell/page-crash.tsx";
import { NAMESPACE_SETTING, Shell } from "./shell/shell.tsx";

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const start = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: () => null,
  beforeLoad: ({ context }) => {
    const { namespaces, namespace } = context as StartContext;
    const last = readSetting(NAMESPACE_SETTING);
    const ns = last !== undefined && namespaces.includes(last) ? last : namespace;
    throw redirect({ to: "/$ns", params: { ns } as never });
  },
});

export interface StartContext {
  readonly namespaces: readonly string[];
  /** Where `/` leads unless another one was used last. */
  readonly namespace: string;
}

const namespaceRoute = createRoute({ getParentRoute: () => root, path: "/$ns", component: Shell });

function page(path: string, load: () => Promise<{ readonly Page: () => ReactNode }>) {
  return createRoute({
    getParentRoute: () => namespaceRoute,
    path,
    component: lazyRouteComponent(load, "Page"),
    errorComponent: PageCrash,
  });
}

const pages = [
  page("/", () => import("./pages/overview/overview-page.tsx")),
  page("/runs", () => import("./pages/runs/runs-page.tsx")),
  page("/runs/$id", () => import("./pages/run/run-page.tsx")),
  page("/grid", () => import("./pages/grid/grid-page.tsx")),
  page("/compare", () => import("./pages/compare/compare-page.tsx")),
  page("/schedules", () => import("./pages/schedules/schedules-page.tsx")),
  page("/schedules/$id", () => import("./pages/schedules/schedule-page.tsx")),
  page("/queues", () => import("./pages/queues/queues-page.tsx")),
  page("/workers", () => import("./pages/workers/workers-page.tsx")),
  page("/tasks", () => import("./pages/tasks/tasks-page.tsx")),
  page("/workflows", () => import("./pages/workflows/workflows-page.tsx")),
  page("/workflows/$id", () => import("./pages/workflows/workflow-page.tsx")),
  page("/parked", () => import("./pages/parked/parked-page.tsx")),
  page("/audit", () => import("./pages/audit/audit-page.tsx")),
  page("/settings", () => import("./pages/settings/settings-page.tsx")),
];

export function dashboardRouter(context: StartContext) {
  return createRouter({
    routeTree: root.addChildren([start, namespaceRoute.addChildren(pages)]),
    basepath: mountPath(),
    context: context as never,
    parseSearch,
    stringifySearch: searchText,
    defaultPreload: "intent",
    scrollRestoration: true,
    defaultNotFoundComponent: NotFound,
  });
}
