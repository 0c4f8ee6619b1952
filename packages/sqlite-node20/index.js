// This package exists for the "engines" field in its package.json: npm, pnpm and Yarn 1 skip an optional dependency
// whose engines do not match, so a Node that has node:sqlite does not download a second SQLite.
export { DatabaseSync } from "@photostructure/sqlite";
