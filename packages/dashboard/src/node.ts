export { type NodeHandler, type NodeRequest, type NodeResponse, toNode } from "./serve/node-handler.ts";
