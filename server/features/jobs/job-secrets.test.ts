import { expect, it } from "vitest";
import type { JobDraft } from "#protocol/jobs/job-spec.ts";
import { fault } from "#server/testing/match-fault.ts";
import {
  ask,
  DONE,
  end,
  FAILED,
  first,
  jobsForEach,
  jump,
  people,
  read,
  second,
  submit,
  take,
  test,
} from "#server/testing/jobs-for-each.ts";
import { callAs } from "#server/testing/open-test-hub.ts";

/** Secrets of jobs: sealed at the submission, and handed to the node that has the lease alone. */

jobsForEach();

const PLANTED = "hf_planted-value-0001";
const SECRETS = { HF_TOKEN: PLANTED, B: "two words" };
const kept = () => test.hub.db.jobSecret.count();
const send = (draft: Partial<JobDraft>) => people().submit({ jobs: [{ command: "python", ...draft }] });

it("goes to the node that took the job, and is in no answer, event, audit row or column", async () => {
  const [id = ""] = await submit({ name: "a", secrets: SECRETS });
  const taken = await take(first);
  expect(taken.secrets).toEqual(SECRETS);
  expect(taken.spec.secrets).toEqual(["B", "HF_TOKEN"]);
  const { db } = test.hub;
  const said = [
    await read(id),
    await callAs(test.hub, "admin").jobs.get({ id }),
    await people().list({}),
    await db.job.findMany(),
    await db.event.findMany(),
    await db.audit.findMany(),
    await db.jobSecret.findMany(),
    (await ask(second)).job,
  ];
  expect(
    JSON.stringify(said, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
  ).not.toContain("planted");
  expect((await read(id)).spec?.secrets).toEqual(["B", "HF_TOKEN"]);
});

it("comes again to the node whose answer was lost, and to the next node after an interruption, alone", async () => {
  await submit({ name: "a", secrets: SECRETS });
  const once = await take(first);
  const again = await take(first);
  expect(again).toMatchObject({ id: once.id, attempt: 1, secrets: SECRETS });
  await jump(600_000, [second]);
  expect((await take(second)).secrets).toEqual(SECRETS);
  expect((await ask(first)).job).toBeNull();
});

it("is gone when the job is done or canceled, and stays with one that failed, for a retry", async () => {
  const policy = { mostFailures: 1 };
  const [id = ""] = await submit({ name: "a", secrets: SECRETS, policy });
  await end(first, await take(first), FAILED);
  expect(await kept()).toBe(1);
  await people().retry({ which: { ids: [id] } });
  const taken = await take(first);
  expect(taken.secrets).toEqual(SECRETS);
  await end(first, taken, DONE);
  expect(await kept()).toBe(0);
  const [other = ""] = await submit({ name: "b", secrets: SECRETS });
  expect(await kept()).toBe(1);
  await people().cancel({ which: { ids: [other] } });
  expect(await kept()).toBe(0);
});

it("belongs to what an idempotency key stands for", async () => {
  const draft = { name: "a", idempotencyKey: "key", secrets: SECRETS };
  const [id] = await submit(draft);
  expect(await submit(draft, { ...draft, secrets: { B: "two words", HF_TOKEN: PLANTED } })).toEqual([id, id]);
  await expect(send({ ...draft, secrets: { ...SECRETS, B: "other" } })).rejects.toEqual(fault("CONFLICT"));
  await expect(send({ ...draft, secrets: { HF_TOKEN: PLANTED } })).rejects.toEqual(fault("CONFLICT"));
  expect(await kept()).toBe(1);
});

it.each([
  ["no value", { secrets: { HF_TOKEN: "" } }],
  ["a name of the environment too", { secrets: { HF_TOKEN: PLANTED }, environment: { HF_TOKEN: "x" } }],
  ["too much", { secrets: { HF_TOKEN: PLANTED.repeat(400) } }],
  ["no name of a variable", { secrets: { "HF TOKEN": PLANTED } }],
  ["a list", { secrets: [PLANTED] as never }],
])("with %s is refused without being repeated", async (_, draft) => {
  const error: unknown = await send(draft).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(Error);
  expect(String(error)).not.toContain("planted");
  expect(await test.hub.db.job.count()).toBe(0);
});

it("of which the row is lost, a job is not started without it", async () => {
  const [id = ""] = await submit({ name: "a", secrets: SECRETS });
  await test.hub.db.jobSecret.deleteMany();
  await expect(ask(first).then(({ job }) => job)).resolves.toBeNull();
  expect((await read(id)).state).toBe("waiting");
});
