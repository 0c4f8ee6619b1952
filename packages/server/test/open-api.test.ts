import { WorkflowService } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { serverUnderTest } from "./server-under-test.ts";

interface Description {
  readonly paths: Readonly<Record<string, { readonly post: { readonly operationId: string } }>>;
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: object }>> };
}

test("the OpenAPI description names every unary call, and everything that it refers to", async () => {
  const t = await serverUnderTest();
  const description = (await (await fetch(`${t.server.url}/openapi.json`)).json()) as Description;
  await t.close();
  const unary = WorkflowService.methods.filter(({ methodKind }) => methodKind === "unary");
  for (const { name } of unary)
    expect(description.paths[`/holdfast.v1.WorkflowService/${name}`]?.post.operationId).toBe(`WorkflowService_${name}`);
  expect(description.paths).not.toHaveProperty("/holdfast.v1.WorkflowService/WatchWorkflow");
  const references = [...JSON.stringify(description).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(
    ([, name]) => name as string,
  );
  expect(references.filter((name) => !Object.hasOwn(description.components.schemas, name))).toEqual([]);
  const { properties } = description.components.schemas["holdfast.v1.StartWorkflowRequest"] ?? {};
  expect(Object.keys(properties ?? {})).toEqual([
    "namespace",
    "externalId",
    "taskQueue",
    "workflowType",
    "input",
    "version",
    "retryPolicy",
    "priority",
    "timeoutMs",
    "startAt",
    "attributes",
    "key",
    "ifRunning",
    "ifClosed",
  ]);
});
