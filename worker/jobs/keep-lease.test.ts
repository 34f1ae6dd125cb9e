import { expect, it } from "vitest";
import { JOB_POLL_MS } from "#protocol/jobs/node-jobs.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { keepLease } from "./keep-lease.ts";

const job = { id: "6f9619ff-8b86-4d01-b42d-00c04fc964ff", attempt: 2 };
const current = { jobs: [{ jobId: job.id, attempt: 2, state: "current", outcome: null, reason: null }] };
const over = { jobs: [{ jobId: job.id, attempt: 2, state: "over", outcome: "canceled", reason: "ada canceled it" }] };

it("asks again and again, and returns the reason when the attempt is over", async () => {
  const clock = createFakeClock();
  const answers = [current, current, over];
  const hub = createFakeHub({ jobStates: () => answers.shift() });
  const held = keepLease(job, { hub, bootId: "boot-of-this-start", clock, signal: new AbortController().signal });
  await clock.pass(3 * JOB_POLL_MS);
  expect(await held).toBe("ada canceled it");
  expect(hub.asked).toHaveLength(3);
});

it("stops nothing while the hub does not answer, and asks on", async () => {
  const clock = createFakeClock();
  let tries = 0;
  const hub = createFakeHub({
    jobStates: () => {
      if (++tries < 4) throw new Fault("HUB_UNREACHABLE");
      return over;
    },
  });
  let ended: string | null | undefined;
  const signal = new AbortController().signal;
  const held = keepLease(job, { hub, bootId: "boot-of-this-start", clock, signal }).then((reason) => (ended = reason));
  await clock.pass(2 * JOB_POLL_MS);
  expect([tries, ended]).toEqual([3, undefined]);
  await clock.pass(JOB_POLL_MS);
  expect(await held).toBe("ada canceled it");
});

it("an answer about another attempt ends nothing", async () => {
  const clock = createFakeClock();
  const stop = new AbortController();
  const other = { jobs: [{ ...over.jobs[0], attempt: 1 }] };
  const hub = createFakeHub({ jobStates: () => other });
  const held = keepLease(job, { hub, bootId: "boot-of-this-start", clock, signal: stop.signal });
  await clock.pass(2 * JOB_POLL_MS);
  stop.abort();
  expect(await held).toBeNull();
});

it("does not wait for an answer once the signal has fired", async () => {
  const stop = new AbortController();
  const hub = createFakeHub({ jobStates: () => new Promise(() => undefined) });
  const held = keepLease(job, { hub, bootId: "boot-of-this-start", clock: createFakeClock(), signal: stop.signal });
  stop.abort();
  expect(await held).toBeNull();
});
