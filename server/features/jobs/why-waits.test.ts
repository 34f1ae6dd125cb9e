import { expect, it } from "vitest";
import {
  ask,
  DONE,
  end,
  FAILED,
  first,
  jobsForEach,
  pass,
  people,
  read,
  restart,
  second,
  speak,
  submit,
  take,
  test,
} from "#server/testing/jobs-for-each.ts";

/** Why a waiting job is not handed out, in one sentence. */

jobsForEach();

const GB = 1_000_000_000;
const why = async (id: string) => (await read(id)).waits;
const needs = (gpuGb: number, labels: Record<string, string> = {}) => ({ gpuMemoryBytes: gpuGb * GB, labels });
/** Lets a node say what it offers, without a job that it could take. */
const offer = async (who: typeof first, gpuGb: number, queue = "default") => {
  await speak(who);
  await ask(who, { queue, gpuMemoryBytes: gpuGb * GB });
};

it("names the queue that nobody asks, and the one that is paused", async () => {
  const [id = ""] = await submit({ name: "a", queue: "night" });
  await offer(first, 24);
  expect(await why(id)).toBe("no node asks for jobs of the queue night now");
  await people().pauseQueue({ queue: "night" });
  expect(await why(id)).toBe("the queue night is paused");
});

it("names the need that no node meets, and the nodes that meet it and are busy", async () => {
  const [large = "", small = ""] = await submit(
    { name: "large", needs: needs(80) },
    { name: "small", needs: needs(16), priority: -1 },
    { name: "work", priority: 1 },
  );
  await offer(second, 8);
  await offer(first, 24);
  // Each took what it could: the second the job without needs, the first the small one.
  expect((await read(small)).state).toBe("running");
  expect(await why(large)).toBe(
    "it needs 80 GB of GPU memory: no node of the queue default has it (2 nodes ask for its jobs)",
  );
  const [next = "", label = ""] = await submit(
    { name: "next", needs: needs(16) },
    { name: "label", needs: needs(16, { region: "mars" }) },
  );
  expect(await why(next)).toBe("it needs 16 GB of GPU memory: one node has it, busy");
  expect(await why(label)).toBe(
    "it needs 16 GB of GPU memory and the label region=mars: no node of the queue default has all of it (2 nodes ask for its jobs)",
  );
});

it("says of a job that any node could take that they are busy, or that others go before", async () => {
  await submit({ name: "work" });
  await take(first);
  const [one = "", two = ""] = await submit({ name: "one" }, { name: "two" });
  expect(await why(one)).toBe("one node of the queue default can take it, busy");
  await people().pauseQueue({ queue: "default" });
  await offer(second, 0);
  await people().resumeQueue({ queue: "default" });
  expect(await why(two)).toBe("2 nodes of the queue default can take it; one job goes before");
  expect(await why(one)).toBe("2 nodes of the queue default can take it, and one takes it in a moment");
});

it("names the job that writes its run, the wait after a failure, and a node that is not given it", async () => {
  await submit({ name: "writer", run: "llama" });
  const writer = await take(first);
  const [id = ""] = await submit({
    name: "next",
    run: "llama",
    policy: { exitCodes: { banMachine: [1], retry: [], fail: [] } },
  });
  expect(await why(id)).toBe("the job writer writes its run llama now");
  await end(first, writer, DONE);
  await end(first, await take(first), FAILED);
  expect(await why(id)).toMatch(/^it waits \d+ s after its last failure$/);
  await pass(30_000, [first], () => ask(first));
  expect(await why(id)).toBe("one node of the queue default can take it, and is not given it for some time");
});

it("does not count nodes that are gone, and says nothing of jobs that do not wait or follow others", async () => {
  await offer(first, 24);
  const [before = "", after = ""] = await submit(
    { name: "before", queue: "other" },
    { name: "after", after: ["before"] },
  );
  expect(await why(after)).toBeNull();
  const [id = ""] = await submit({ name: "a", needs: needs(80) });
  expect(await why(id)).toContain("one node asks for its jobs");
  await people().cancel({ which: { ids: [before] } });
  expect(await why(before)).toBeNull();
  test.advance(600_000);
  expect(await why(id)).toContain("no node");
  restart(first);
});
