import { execFile } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startFakeImds, type FakeImds } from "../testing/fake-imds.ts";
import { createImds } from "./imds.ts";

let fake: FakeImds;
beforeEach(async () => {
  fake = await startFakeImds();
});
afterEach(() => fake.close());

test("it asks for another machine with a reason of at most a thousand characters", async () => {
  await createImds(fake.url).reallocate(`too slow ${"x".repeat(2_000)}`);
  expect(fake.asked).toEqual([
    {
      method: "POST",
      path: "/v1/reallocate",
      metadata: "true",
      body: { reason: expect.stringMatching(/^too slow x+$/) },
    },
  ]);
  expect(JSON.stringify(fake.asked[0]?.body)).toHaveLength(1_000 + '{"reason":""}'.length);
});

test("a deletion cost is a whole number that fits into 32 bits", async () => {
  const imds = createImds(fake.url);
  for (const cost of [12.4, 9e12, -3]) await imds.setDeletionCost(cost);
  expect(fake.asked.map(({ method, path, body }) => [method, path, body])).toEqual([
    ["PUT", "/v1/deletion-cost", { deletion_cost: 12 }],
    ["PUT", "/v1/deletion-cost", { deletion_cost: 2_147_483_647 }],
    ["PUT", "/v1/deletion-cost", { deletion_cost: 0 }],
  ]);
});

test("what answers like the platform is the platform, anything else is not", async () => {
  expect(await createImds(fake.url).status()).toEqual({ ready: true, started: true });
  fake.failWith(404);
  expect(await createImds(fake.url).status()).toBeNull();
  expect(await createImds("http://127.0.0.1:9").status()).toBeNull();
});

test("a refusal is a fault that says which call it was", async () => {
  fake.failWith(500);
  await expect(createImds(fake.url).reallocate("slow")).rejects.toMatchObject({
    code: "PLATFORM_FAILED",
    context: { subject: "/v1/reallocate", detail: "HTTP 500" },
  });
});

test("it says who the container is, and what is no token is a fault", async () => {
  fake.identify("header.claims.signature");
  expect(await createImds(fake.url).identity()).toBe("header.claims.signature");
  expect(fake.asked).toEqual([{ method: "GET", path: "/v1/token", metadata: "true", body: null }]);
  fake.identify("x");
  await expect(createImds(fake.url).identity()).rejects.toMatchObject({
    code: "PLATFORM_FAILED",
    context: { subject: "/v1/token", detail: "there is no token in its answer" },
  });
});

test("one that never answers is not waited for", async () => {
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await expect.poll(() => silent.listening).toBe(true);
  const imds = createImds(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  await expect(imds.setDeletionCost(1)).rejects.toMatchObject({ code: "PLATFORM_FAILED" });
  silent.close();
});

test("a proxy that the environment names is passed by", async () => {
  const script = `import { createImds } from ${JSON.stringify(join(import.meta.dirname, "imds.ts"))};
    await createImds(${JSON.stringify(fake.url)}).reallocate("slow");`;
  const dead = "http://127.0.0.1:9";
  const env = {
    ...process.env,
    NODE_USE_ENV_PROXY: "1",
    HTTP_PROXY: dead,
    http_proxy: dead,
    NO_PROXY: "",
    no_proxy: "",
  };
  await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { env });
  expect(fake.asked).toHaveLength(1);
});
