export { type Principal, type ServerHost, serverDashboard } from "./serve/server-dashboard.ts";
