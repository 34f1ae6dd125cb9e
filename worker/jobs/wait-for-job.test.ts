import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { queueName } from "#protocol/jobs/job-spec.ts";
import { ASK_AGAIN_MS } from "#protocol/jobs/node-jobs.ts";
import { Fault, type FaultData } from "#protocol/faults/fault.ts";
import { createWakeableSleep } from "../base/wakeable-sleep.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { askForJob } from "./wait-for-job.ts";

const job = { id: "6f9619ff-8b86-4d01-b42d-00c04fc964ff" };

function stage(
  answers: (FaultData["code"] | null)[],
  about: { setbacks?: number; slots?: number; unsent?: FaultData["code"][]; notified?: number } = {},
) {
  const clock = createFakeClock();
  const questions: unknown[] = [];
  const troubles: string[] = [];
  const rests: number[] = [];
  const { setbacks = 0, unsent = [], notified = 0 } = about;
  const jobWait = createWakeableSleep(clock, new AbortController().signal);
  const stopping = new AbortController();
  const hub = createFakeHub({
    takeJob: (question: never) => {
      questions.push(question);
      const code = answers.shift();
      if (code != null) throw new Fault(code);
      if (questions.length <= notified) return { job: null, why: null, notifies: true };
      return { job, why: null };
    },
  });
  const asked = askForJob(
    {
      hub,
      bootId: "boot-of-this-start",
      reporter: { waitingFor: (error: Fault) => void troubles.push(error.code) } as never,
      stand: { isDrained: false } as never,
      jobWait,
      signal: new AbortController().signal,
    },
    { stopping: stopping.signal },
    {
      queue: queueName.parse("gpu"),
      folder: tmpdir(),
      slot: about.slots === undefined ? null : { number: 1, of: about.slots },
      messages: { restsAfterTrouble: (ms: number) => void rests.push(ms), waiting: () => {} } as never,
      unreported: {
        send: async () => {
          const code = unsent.shift();
          if (code !== undefined) throw new Fault(code);
        },
      } as never,
      setbacks: { count: setbacks },
      gpuMemoryBytes: 85_520_809_984,
      clock,
    },
  );
  return { asked, clock, questions, troubles, rests, jobWait, stopping };
}

/** Moves the time until the work is done, however often it sleeps in between. */
async function settle<T>(work: Promise<T>, pass: () => Promise<void>): Promise<T> {
  const state = { isOver: false };
  const over = () => (state.isOver = true);
  work.then(over, over);
  while (!state.isOver) await pass();
  return work;
}

it("tells the hub the memory of its GPU", async () => {
  const { asked, clock, questions } = stage([null]);
  expect(await settle(asked, () => clock.pass(0))).toEqual(job);
  expect(questions).toMatchObject([{ queue: "gpu", gpuMemoryBytes: 85_520_809_984 }]);
});

it("offers its part of the free disk, because the jobs of other slots write there too", async () => {
  const offered = async (slots: number) => {
    const { asked, clock, questions } = stage([null], { slots });
    await settle(asked, () => clock.pass(0));
    return (questions[0] as { diskBytes: number }).diskBytes;
  };
  // Other processes write to the disk meanwhile.
  expect((await offered(1)) / (await offered(4))).toBeCloseTo(4, 0);
});

it.each(["ACCESS_DENIED", "BAD_INPUT", "HUB_NOT_TIDEMARK", "HUB_UNREACHABLE"] as const)(
  "asks again after %s, which does not end the node",
  async (code) => {
    const { asked, clock, questions, troubles } = stage([code, code, null]);
    expect(await settle(asked, () => clock.pass(10_000))).toEqual(job);
    expect([questions.length, troubles]).toEqual([3, [code, code]]);
  },
);

it("ends with a fault by which the hub rejects the node", async () => {
  const { asked, clock } = stage(["NODE_REVOKED"]);
  await expect(settle(asked, () => clock.pass(0))).rejects.toMatchObject({ code: "NODE_REVOKED" });
});

it("asks for no job before the hub has the last end", async () => {
  const { asked, clock, questions, troubles } = stage([null], { unsent: ["HUB_UNREACHABLE"] });
  await settle(Promise.resolve(), () => clock.pass(0));
  while (troubles.length === 0) await clock.pass(0);
  expect(questions).toEqual([]);
  expect(await settle(asked, () => clock.pass(10_000))).toEqual(job);
});

it("rests before the next job, and longer after each attempt that this machine could not run", async () => {
  const rests: number[] = [];
  for (const setbacks of [0, 1, 2, 30]) {
    const one = stage([null], { setbacks });
    if (setbacks > 0) {
      while (one.rests.length === 0) await one.clock.pass(0);
      expect(one.questions).toEqual([]);
    }
    expect(await settle(one.asked, () => one.clock.pass(300_000))).toEqual(job);
    rests.push(...one.rests);
  }
  expect(rests).toEqual([3_750, 7_500, 225_000]);
});

it("asks again when the hub, which looks for a job for it, says that there is one, and by itself within ten minutes", async () => {
  const told = stage([], { notified: 1 });
  while (told.questions.length === 0) await told.clock.pass(0);
  await told.clock.pass(60_000);
  expect(told.questions).toMatchObject([{ listens: true }]);
  told.jobWait.wake();
  expect(await settle(told.asked, () => told.clock.pass(0))).toEqual(job);
  expect(told.questions).toHaveLength(2);

  const untold = stage([], { notified: 1 });
  while (untold.questions.length === 0) await untold.clock.pass(0);
  await untold.clock.pass(ASK_AGAIN_MS);
  expect(await untold.asked).toEqual(job);
});

it("tells the hub that it takes no job when it is asked to stop while the hub looks for one", async () => {
  const { asked, clock, questions, stopping } = stage([], { notified: 1 });
  while (questions.length === 0) await clock.pass(0);
  await clock.pass(0);
  stopping.abort();
  expect(await settle(asked, () => clock.pass(0))).toBeNull();
  expect(questions).toMatchObject([{ listens: true }, { ends: true }]);
});
