import { expect, it } from "vitest";
import { isNormalPath } from "./normal-path.ts";

it.each([
  "/",
  "/runs/llama-7b",
  "/runs/a%20b",
  "/api/trpc/auth.status,nodes.list?batch=1&input=%7B%2F..%7D",
  "/_next/static/chunks/app/(hub)/page-1.js",
  "/checkpoints/[id]",
  "/healthz?x=//..",
])("%s is a path as it is", (path) => {
  expect(isNormalPath(path)).toBe(true);
});

it.each([
  "/./_next/image?url=x",
  "/x/../_next/image",
  "//_next/image",
  "/runs//x",
  "/%2e/_next/image",
  "/%2E%2E/x",
  "/x%2f..%2fy",
  "/\\_next/image",
  "/%5c_next/image",
  "/x%00",
  "/%zz",
  "/x#%zz",
  "http://hub/_next/image",
  "*",
  "",
])("%s is another spelling of a path, or none", (path) => {
  expect(isNormalPath(path)).toBe(false);
});
