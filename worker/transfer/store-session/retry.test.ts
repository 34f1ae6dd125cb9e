import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { createFakeClock } from "#worker/testing/fake-clock.ts";
import { createPatience, createRetrier, withRetry } from "./retry.ts";

const signal = new AbortController().signal;

test("with the link down and patience over, all give up together and not one probe after the other", async () => {
  const clock = createFakeClock();
  const retrier = createRetrier(clock, 60_000);
  const patience = createPatience(clock);
  let ended = 0;
  const parts = Array.from({ length: 32 }, () =>
    withRetry(retrier, { signal, patience }, async () => {
      throw new Fault("LINK_DOWN");
    }).catch((error: unknown) => {
      expect(error).toMatchObject({ code: "LINK_DOWN" });
      ended++;
    }),
  );
  await clock.pass(60_000);
  expect(ended).toBe(0);
  // One more probe, at most 5 s away, ends it for all.
  await clock.pass(5_000);
  await Promise.all(parts);
  expect(ended).toBe(32);
});

test("every fault that will be tried again is told, and a final one is not", async () => {
  const clock = createFakeClock();
  const retrier = createRetrier(clock, 60_000);
  const told: string[] = [];
  retrier.onTrouble = ({ code }) => void told.push(code);
  const answers = [new Fault("THROTTLED"), new Fault("ACCESS_DENIED")];
  const work = withRetry(retrier, { signal, patience: createPatience(clock) }, async () => {
    throw answers.shift() ?? new Fault("INTERNAL");
  });
  const refused = expect(work).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  await clock.pass(10_000);
  await refused;
  expect(told).toEqual(["THROTTLED"]);
});

test("what cannot be overcome here ends at once, with what a person can do", async () => {
  const clock = createFakeClock();
  const retrier = createRetrier(clock, 60_000);
  retrier.hopeless = new Map([["CREDENTIALS_EXPIRED", "give new keys"]]);
  let tries = 0;
  const work = withRetry(retrier, { signal, patience: createPatience(clock) }, async () => {
    tries++;
    throw new Fault("CREDENTIALS_EXPIRED", { subject: "k" });
  });
  await expect(work).rejects.toMatchObject({
    code: "CREDENTIALS_EXPIRED",
    context: { subject: "k", detail: "give new keys" },
  });
  expect(tries).toBe(1);
});

test("what never had its turn while the link was down ends with the others", async () => {
  const clock = createFakeClock();
  const retrier = createRetrier(clock, 10_000);
  const patience = createPatience(clock);
  const down = async () => {
    throw new Fault("NAME_NOT_RESOLVED", { subject: "first" });
  };
  const first = expect(withRetry(retrier, { signal, patience }, down)).rejects.toMatchObject({
    code: "NAME_NOT_RESOLVED",
  });
  await clock.pass(20_000);
  await first;
  let tries = 0;
  const rest = Array.from({ length: 50 }, () =>
    expect(
      withRetry(retrier, { signal, patience }, async () => {
        tries++;
        throw new Fault("NAME_NOT_RESOLVED");
      }),
    ).rejects.toMatchObject({ code: "NAME_NOT_RESOLVED" }),
  );
  await Promise.all(rest);
  expect(tries).toBe(0);
});
