// The engines of package.json are why this package exists: npm, pnpm and Yarn 1 leave an optional dependency out where
// they do not match, so that a Node that has node:sqlite does not download a second SQLite.
export { DatabaseSync } from "@photostructure/sqlite";
