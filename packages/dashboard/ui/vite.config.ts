import path from "node:path";
import process from "node:process";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const folder = import.meta.dirname;

// Whoever builds, a test as well: the pages that are published, with the React for production.
process.env.NODE_ENV = "production";

// The build is served below any path: assets are relative, and the handler writes <base href>.
export default defineConfig({
  root: folder,
  base: "./",
  plugins: [react()],
  css: { modules: { localsConvention: "camelCase" } },
  build: {
    outDir: path.join(folder, "..", "dist", "ui"),
    emptyOutDir: true,
    target: "es2022",
    manifest: true,
    // A data: address in a style sheet or a preload helper with inline code is what the content security policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What is bundled is published with its licenses, beside the scripts.
    license: { fileName: "third-party-notices.txt" },
  },
});
