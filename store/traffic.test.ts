import { expect, test } from "vitest";
import { openTraffic } from "./traffic.ts";

test("who asks what was counted waits for requests that were answered and not counted yet, and for no others", async () => {
  const traffic = openTraffic("on");
  await traffic.recorded();
  traffic.requestBegan();
  // Still under way: whoever stalls it on purpose may ask anyway.
  await traffic.recorded();
  const [first, second] = [traffic.answered(), traffic.answered()];
  let isTold = false;
  const told = traffic.recorded().then(() => {
    isTold = true;
  });
  first();
  await new Promise((resolve) => setImmediate(resolve));
  expect(isTold).toBe(false);
  second();
  await told;
  expect(isTold).toBe(true);
});
