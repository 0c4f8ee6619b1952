/** Which runs a request means. */
import { fromWorkflowStatus, type ListWorkflowsRequest } from "@holdfast/protocol";
import type { ListFilter } from "holdfast";
import { attributesOf, dateOf } from "./pages.ts";

type Filtering = Pick<ListWorkflowsRequest, "statusFilter" | "workflowType" | "taskQueue" | "attributes"> &
  Partial<Pick<ListWorkflowsRequest, "createdAfter" | "createdBefore">>;

/** Undefined if no run can match. */
export function filterOf(message: Filtering): ListFilter | undefined {
  const status = fromWorkflowStatus(message.statusFilter);
  if (status === null) return undefined;
  const after = dateOf(message.createdAfter, "created_after");
  const before = dateOf(message.createdBefore, "created_before");
  return {
    ...(status === undefined ? {} : { status }),
    ...(message.workflowType === "" ? {} : { workflow: message.workflowType }),
    ...(message.taskQueue === "" ? {} : { queue: message.taskQueue }),
    ...(after ? { createdAfter: after } : {}),
    ...(before ? { createdBefore: before } : {}),
    ...(Object.keys(message.attributes).length === 0 ? {} : { attributes: attributesOf(message.attributes) }),
  };
}
