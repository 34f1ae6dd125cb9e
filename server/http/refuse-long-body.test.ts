import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { served, servedForEach } from "../testing/served-for-each.ts";

servedForEach();

/** Says how long its body is, and sends none of it. */
async function announce(path: string, length: number): Promise<{ status: number | undefined; body: string }> {
  const asked = request(`${served.url}/api/trpc/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": length },
  });
  asked.flushHeaders();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  const body = await text(answer);
  asked.on("error", () => undefined);
  asked.destroy();
  return { status: answer.statusCode, body };
}

it.each([
  ["node.enrol", 64 * 1024 + 1],
  ["auth.signIn", 4_000_000],
  ["no.such", 70_000],
  ["auth.status,auth.signIn", 70_000],
  ["node.progress", 1024 * 1024 + 1],
])("a body of %s that says it is too long is refused before any of it has come", async (path, length) => {
  const { status, body } = await announce(path, length);
  expect(status).toBe(413);
  expect(body).toContain('"TOO_LARGE"');
});
