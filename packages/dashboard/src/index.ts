/** Holdfast's dashboard. */

export type { PayloadRight } from "./api/api-messages.ts";
export type { Role } from "./api/list-messages.ts";
export { type Dashboard, dashboard } from "./dashboard.ts";
export type { Auth, DashboardOptions } from "./dashboard-options.ts";
export type { Visitor } from "./gate/visitor.ts";
export type { Redact, ValuePlace } from "./reads/shown-value.ts";
