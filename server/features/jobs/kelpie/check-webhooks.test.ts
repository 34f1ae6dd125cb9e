import { beforeEach, expect, it } from "vitest";
import { call, JOB, kelpieForEach, test } from "#server/testing/kelpie-for-each.ts";

/** Webhooks that the hub would never call, as submit scripts learn of them. */
kelpieForEach();
beforeEach(() => {
  Object.assign(test.hub.reach.rules, { allowPrivate: false, allowHttp: false });
});

const submission = (webhook: string) => ({ ...JOB, webhook });
const send = async (webhook: string) => {
  const { status, body } = await call("POST /jobs", submission(webhook));
  return { status, message: body["message"] };
};

it("a webhook with a scheme, a port or an address that the sender refuses is refused with the reason", async () => {
  const why = "signatures would cross the network in the clear; use https, or see TIDEMARK_ALLOW_HTTP_ENDPOINTS";
  expect(await send("http://8.8.8.8/hook?key=hush")).toEqual({
    status: 400,
    message: `webhook: the hub does not call http://8.8.8.8: ${why}`,
  });
  expect(await send("https://8.8.8.8:4444/")).toMatchObject({
    status: 400,
    message: expect.stringContaining("port 4444 is not among those of stores") as unknown,
  });
  expect(await send("http://169.254.169.254/latest")).toMatchObject({ status: 400 });
  expect(await test.hub.db.job.count()).toBe(0);
  expect(await send("https://8.8.8.8/hook")).toMatchObject({ status: 202 });
  test.hub.reach.rules.allowHttp = true;
  expect(await send("http://8.8.8.8/hook")).toMatchObject({ status: 202 });
});

it("the first such webhook of a batch is named by its index, and no job is stored", async () => {
  const [good, bad, worse] = ["https://8.8.8.8/a", "https://8.8.8.8:4444/b", "http://8.8.8.8/c"].map(submission);
  expect(await call("POST /jobs/batch", [JOB, good, bad, worse])).toMatchObject({
    status: 400,
    body: { error: "Bad Request", index: 2 },
  });
  expect(await test.hub.db.job.count()).toBe(0);
});
