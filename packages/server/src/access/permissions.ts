/**
 * What each call needs. A call without a row does not exist: the server refuses to start with a service that has one, and a test
 * tries every row.
 */
import type { Role } from "holdfast/adapter";
import type { Limited } from "./rate-limits.ts";

export interface Permission {
  /** Null: nobody is asked who they are. */
  readonly role: Role | null;
  /** Where the role is needed: in the namespace that the request names, or in all of them. */
  readonly scope: "namespace" | "all";
  /** Which limit it counts for. */
  readonly limit?: Limited;
  /** Kept in the audit log. */
  readonly audit?: true;
  /** Refused while the namespace is disabled. */
  readonly needsEnabled?: true;
}

export type Permissions = Readonly<Record<string, Permission>>;

const READ: Permission = { role: "reader", scope: "namespace", limit: "reads" };
const WRITE: Permission = { role: "writer", scope: "namespace" };
const OPERATE: Permission = { role: "writer", scope: "namespace", audit: true };
const START: Permission = { role: "writer", scope: "namespace", limit: "starts", needsEnabled: true };
const WORK: Permission = { role: "worker", scope: "namespace" };
/** Results and signs of life: a token is their proof, and they are never limited. */
const REPORT: Permission = { role: "writer", scope: "namespace" };
const ADMIN: Permission = { role: "admin", scope: "namespace", audit: true };
const ADMIN_ALL: Permission = { role: "admin", scope: "all", audit: true };
const READ_ALL: Permission = { role: "reader", scope: "all", limit: "reads" };
const ANYONE: Permission = { role: null, scope: "all" };

export const PERMISSIONS: Permissions = {
  "holdfast.v1.WorkflowService/StartWorkflow": START,
  "holdfast.v1.WorkflowService/GetWorkflow": READ,
  "holdfast.v1.WorkflowService/GetWorkflowByExternalId": READ,
  "holdfast.v1.WorkflowService/ListWorkflows": READ,
  "holdfast.v1.WorkflowService/CancelWorkflow": OPERATE,
  "holdfast.v1.WorkflowService/RetryWorkflow": OPERATE,
  "holdfast.v1.WorkflowService/TerminateWorkflow": OPERATE,
  "holdfast.v1.WorkflowService/AwaitWorkflow": READ,
  "holdfast.v1.WorkflowService/SignalWorkflow": { ...WRITE, limit: "starts" },
  "holdfast.v1.WorkflowService/QueryWorkflow": READ,
  "holdfast.v1.WorkflowService/UpdateWorkflow": { ...WRITE, limit: "starts" },
  "holdfast.v1.WorkflowService/GetWorkflowHistory": READ,
  "holdfast.v1.WorkflowService/WatchWorkflow": READ,
  "holdfast.v1.WorkflowService/ForkWorkflow": { ...OPERATE, limit: "starts", needsEnabled: true },
  "holdfast.v1.WorkflowService/PauseWorkflow": OPERATE,
  "holdfast.v1.WorkflowService/ResumeWorkflow": OPERATE,
  "holdfast.v1.WorkflowService/ExplainWorkflow": READ,
  "holdfast.v1.WorkflowService/BatchWorkflows": OPERATE,

  "holdfast.v1.WorkflowScheduleService/CreateWorkflowSchedule": { ...OPERATE, needsEnabled: true },
  "holdfast.v1.WorkflowScheduleService/GetWorkflowSchedule": READ,
  "holdfast.v1.WorkflowScheduleService/ListWorkflowSchedules": READ,
  "holdfast.v1.WorkflowScheduleService/UpdateWorkflowSchedule": OPERATE,
  "holdfast.v1.WorkflowScheduleService/DeleteWorkflowSchedule": OPERATE,
  "holdfast.v1.WorkflowScheduleService/TriggerWorkflowSchedule": { ...OPERATE, limit: "starts", needsEnabled: true },
  "holdfast.v1.WorkflowScheduleService/PauseWorkflowSchedule": OPERATE,
  "holdfast.v1.WorkflowScheduleService/ResumeWorkflowSchedule": OPERATE,
  "holdfast.v1.WorkflowScheduleService/ListScheduleRuns": READ,

  "holdfast.v1.WorkerService/Register": { ...WORK, limit: "claims", needsEnabled: true },
  "holdfast.v1.WorkerService/Heartbeat": WORK,
  "holdfast.v1.WorkerService/Deregister": WORK,
  "holdfast.v1.WorkerService/PollTask": { ...WORK, limit: "claims", needsEnabled: true },
  "holdfast.v1.WorkerService/CompleteTask": REPORT,
  "holdfast.v1.WorkerService/FailTask": REPORT,
  "holdfast.v1.WorkerService/HeartbeatTask": REPORT,
  "holdfast.v1.WorkerService/BeginStep": WORK,
  "holdfast.v1.WorkerService/CompleteStep": WORK,
  "holdfast.v1.WorkerService/FailStep": WORK,
  "holdfast.v1.WorkerService/CompleteWorkflow": WORK,
  "holdfast.v1.WorkerService/FailWorkflow": WORK,
  "holdfast.v1.WorkerService/Sleep": WORK,
  "holdfast.v1.WorkerService/Attach": { ...WORK, limit: "claims", needsEnabled: true },

  "holdfast.v1.AdminService/ListWorkers": READ,
  "holdfast.v1.AdminService/GetWorker": READ,
  "holdfast.v1.AdminService/GetStep": READ,
  "holdfast.v1.AdminService/ListSteps": READ,
  "holdfast.v1.AdminService/HealthCheck": ANYONE,
  "holdfast.v1.AdminService/GetServerInfo": { role: "reader", scope: "namespace" },
  "holdfast.v1.AdminService/GetStats": READ,
  "holdfast.v1.AdminService/DrainWorker": ADMIN,
  "holdfast.v1.AdminService/GetQueueDepth": READ,
  "holdfast.v1.AdminService/ListWorkflowTypes": READ,
  "holdfast.v1.AdminService/CreateToken": ADMIN,
  "holdfast.v1.AdminService/ListTokens": { role: "admin", scope: "namespace", limit: "reads" },
  "holdfast.v1.AdminService/RevokeToken": ADMIN,
  "holdfast.v1.AdminService/ListAuditEvents": { role: "admin", scope: "namespace", limit: "reads" },

  "holdfast.v1.NamespaceService/CreateNamespace": ADMIN_ALL,
  "holdfast.v1.NamespaceService/GetNamespace": READ,
  "holdfast.v1.NamespaceService/ListNamespaces": READ_ALL,
  "holdfast.v1.NamespaceService/UpdateNamespace": ADMIN,
  "holdfast.v1.NamespaceService/EnableNamespace": ADMIN_ALL,
  "holdfast.v1.NamespaceService/DisableNamespace": ADMIN_ALL,

  "grpc.health.v1.Health/Check": ANYONE,
  "grpc.health.v1.Health/Watch": ANYONE,
  "grpc.reflection.v1.ServerReflection/ServerReflectionInfo": { role: "reader", scope: "namespace" },
};
