import { createServer, type Server } from "node:http";
import { afterEach, expect, test } from "vitest";
import { checkClock } from "./check-clock.ts";

const signal = new AbortController().signal;
let server: Server | null = null;
afterEach(() => void server?.close());

async function serve(headers: Record<string, string>, sendDate: boolean): Promise<string> {
  const made = createServer((_request, response) => {
    response.sendDate = sendDate;
    response.writeHead(403, headers).end();
  });
  server = made;
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  const address = made.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

test("a clock that is right is fine, whatever the answer was", async () => {
  expect(await checkClock("store", { address: await serve({}, true), signal })).toMatchObject({ outcome: "ok" });
});

test("a clock that is two hours off is doubted, with the side and the way to set it", async () => {
  const now = () => Date.now() + 2 * 3_600_000;
  const found = await checkClock("hub", { address: await serve({}, true), signal, now });
  expect(found).toMatchObject({ outcome: "warn" });
  expect(found.says).toContain("2 h ahead of the hub's");
  expect(found.fix).toContain("timedatectl");
});

test("no time in the answer, and no answer, are not a wrong clock", async () => {
  expect(await checkClock("store", { address: await serve({}, false), signal })).toMatchObject({ outcome: "skipped" });
  expect(await checkClock("store", { address: "http://127.0.0.1:9", signal })).toMatchObject({ outcome: "skipped" });
});
