import { existsSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build } from "../gate/build.ts";
import { ROOT } from "../gate/run-step.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";

/** The image optimiser of the page renderer, as it was built, asked by somebody unknown for whom it would decode, scale and store. */

let stage: Stage;
beforeAll(async () => {
  await build(".next/BUILD_ID");
  stage = await openStage({ hub: { pages: "served" } });
});
afterAll(() => stage.close());

/** As it is written: a client would resolve it. */
function get(path: string): Promise<{ status: number; type: string; bytes: number }> {
  const { hostname, port } = new URL(stage.hub.url);
  const headers = { accept: "image/avif,image/webp" };
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; type: string; bytes: number }>();
  request({ hostname, port, path, headers }, (answer) => {
    let bytes = 0;
    answer.on("data", (chunk: Buffer) => (bytes += chunk.length));
    const { statusCode: status = 0, headers: said } = answer;
    answer.on("end", () => resolve({ status, type: said["content-type"] ?? "", bytes }));
  })
    .on("error", reject)
    .end();
  return promise;
}

const QUERY = "?url=%2Fog.png&w=640&q=75";

test("the picture itself is there, so that an optimiser would have something to do", async () => {
  expect(await get("/og.png")).toMatchObject({ status: 200, type: "image/png" });
});

test.each([
  "/_next/image",
  "/_next/image/",
  "/./_next/image",
  "//_next/image",
  "/_next//image",
  "/_next/./image",
  "/x/../_next/image",
  "/%2e/_next/image",
  "/%2e%2e/_next/image",
  "/_next%2fimage",
  "/%5fnext/image",
  "/_next/%69mage",
  "/%5Fnext/%69%6d%61%67%65",
  "/\\_next/image",
  "/_next\\image",
  "/_next/image;x",
  "/_next/image%00",
  "/_next/image%20",
])("%s gives no picture", async (path) => {
  const answer = await get(path + QUERY);
  expect(answer.type).not.toMatch(/image/);
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(answer.status).toBeLessThan(500);
  expect(existsSync(join(ROOT, ".next/cache/images"))).toBe(false);
});
