import { beforeEach, expect, it } from "vitest";
import { fault } from "#server/testing/match-fault.ts";
import { DONE, end, first, jobsForEach, people, submit, take, test } from "#server/testing/jobs-for-each.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { keepSchedules } from "./keep-schedules.ts";
import { nextTime } from "./next-time.ts";

jobsForEach();
beforeEach(async () => {
  const person = { id: "id-operator", email: "operator@example.com", role: "operator" };
  await test.hub.db.user.create({ data: { ...person, passwordHash: "", createdAt: new Date(0) } });
});

const MINUTE_MS = 60_000;
const job = { command: "true", name: "nightly" };
const set = (about: object = {}) => people().setSchedule({ name: "nightly", cron: "*/5 * * * *", job, ...about });
const row = async () => (await people().schedules())[0];
const submitted = async () => (await people().list({ limit: 50 })).rows.toReversed();
/** Lets the time come to the next time of the schedule. */
async function reach(): Promise<void> {
  const nextAt = (await row())?.nextAt ?? 0;
  test.advance(nextAt - test.hub.now() + 1_000);
  await keepSchedules(test.hub);
}

it("finds the next time in its time zone, also over a change of the clock", () => {
  const at = (text: string, cron: string, timeZone: string) =>
    new Date(nextTime({ cron, timeZone }, Date.parse(text))).toISOString();
  expect(at("2026-01-10T12:00:00Z", "0 3 * * *", "UTC")).toBe("2026-01-11T03:00:00.000Z");
  expect(at("2026-01-10T12:00:00Z", "0 3 * * *", "Europe/Berlin")).toBe("2026-01-11T02:00:00.000Z");
  expect(at("2026-07-10T12:00:00Z", "0 3 * * *", "Europe/Berlin")).toBe("2026-07-11T01:00:00.000Z");
  // In this night the clock goes from 2 to 3 o'clock.
  expect(at("2026-03-28T23:00:00Z", "30 3 * * *", "Europe/Berlin")).toBe("2026-03-29T01:30:00.000Z");
  expect(at("2026-01-10T12:00:00Z", "0 9 * * 1-5", "UTC")).toBe("2026-01-12T09:00:00.000Z");
});

it.each([
  [{ cron: "* * * * * *" }, "five parts"],
  [{ cron: "often" }, "five parts"],
  [{ cron: "0 3 30 2 *" }, "no time fits"],
  [{ timeZone: "Mars/Olympus" }, "no such time zone"],
  [{ job: { command: "true", inputs: [{ profile: "nowhere", prefix: "a" }] } }, "nowhere"],
])("refuses %j with a sentence", async (about, words) => {
  const message = expect.stringContaining(words) as string;
  await expect(set(about)).rejects.toEqual(expect.objectContaining({ message }));
});

it("refuses a job with a key or after others", async () => {
  for (const more of [{ idempotencyKey: "k" }, { after: ["x"] }])
    await expect(set({ job: { ...job, ...more } })).rejects.toThrow();
});

it("submits its job when the time has come, once, as the person who made it", async () => {
  await set();
  await keepSchedules(test.hub);
  expect(await submitted()).toEqual([]);
  await reach();
  await keepSchedules(test.hub);
  const [made, ...others] = await submitted();
  expect(others).toEqual([]);
  expect(made).toMatchObject({ name: "nightly", state: "waiting", labels: { schedule: "nightly" } });
  expect(await row()).toMatchObject({ lastJob: { id: made?.id, state: "waiting" }, problem: null });
  expect((await row())?.nextAt).toBeGreaterThan(test.hub.now());
});

it("a time whose end was not stored is the same job after a restart", async () => {
  await set({ overlaps: true });
  const before = await test.hub.db.jobSchedule.findFirstOrThrow();
  await reach();
  await test.hub.db.jobSchedule.update({ where: { id: before.id }, data: { nextAt: before.nextAt, lastJobId: null } });
  await keepSchedules(test.hub);
  expect(await submitted()).toHaveLength(1);
});

it("submits one job for all times that passed while the hub was away", async () => {
  await set({ overlaps: true });
  test.advance(60 * MINUTE_MS);
  await keepSchedules(test.hub);
  await keepSchedules(test.hub);
  expect(await submitted()).toHaveLength(1);
});

it("waits for the job before, says so, and goes on when that has ended; one that overlaps does not wait", async () => {
  await set();
  await reach();
  await reach();
  expect(await submitted()).toHaveLength(1);
  expect((await row())?.problem).toBe("the job before had not ended");
  await end(first, await take(first), DONE);
  await reach();
  expect(await submitted()).toHaveLength(2);
  await set({ overlaps: true });
  await reach();
  expect(await submitted()).toHaveLength(3);
});

it("a paused schedule submits nothing, and one whose person may not submit any more pauses and says why", async () => {
  await set();
  await people().pauseSchedule({ name: "nightly", isPaused: true });
  expect((await row())?.nextAt).toBeNull();
  test.advance(60 * MINUTE_MS);
  await keepSchedules(test.hub);
  expect(await submitted()).toEqual([]);
  await people().pauseSchedule({ name: "nightly", isPaused: false });
  expect((await row())?.nextAt).toBeGreaterThan(test.hub.now());
  await test.hub.db.user.updateMany({ data: { role: "viewer" } });
  await reach();
  expect(await row()).toMatchObject({
    pausedAt: expect.any(Number) as number,
    problem: "operator@example.com may not submit jobs any more",
  });
  expect(await submitted()).toEqual([]);
});

it("seals the secrets of its job, which only the node of the job gets, and drops them when it is replaced", async () => {
  const secrets = { HF_TOKEN: "hf_planted-0002", B: "two words" };
  await set({ job: { ...job, secrets } });
  expect(await row()).toMatchObject({ secrets: ["B", "HF_TOKEN"] });
  const stored = [
    await row(),
    await test.hub.db.jobSchedule.findMany(),
    await test.hub.db.jobScheduleSecret.findMany(),
  ];
  expect(JSON.stringify([...stored, await test.hub.db.audit.findMany()])).not.toContain("planted");
  await reach();
  const taken = await take(first);
  expect(taken.secrets).toEqual(secrets);
  await end(first, taken, DONE);
  await set({ job });
  expect(await row()).toMatchObject({ secrets: [], lastJob: { state: "done" } });
  expect(await test.hub.db.jobScheduleSecret.count()).toBe(0);
  await reach();
  expect((await take(first)).secrets).toEqual({});
});

it("submits nothing of a schedule that is replaced after it was found due, because its secrets went with it", async () => {
  const { signer } = test.hub;
  const openText = signer.openText.bind(signer);
  await set({ name: "a-first", job: { ...job, name: "a", secrets: { A: "one" } } });
  await set({ job: { ...job, secrets: { B: "two" } } });
  Object.assign(signer, {
    openText: async (what: Parameters<typeof openText>[0]) => {
      Object.assign(signer, { openText });
      await set({ job, cron: "0 3 1 1 *" });
      return openText(what);
    },
  });
  await reach();
  expect((await submitted()).map(({ name }) => name)).toEqual(["a"]);
  expect((await row())?.name).toBe("a-first");
});

it("is replaced under its name, and removed without its jobs", async () => {
  expect(await set()).toMatchObject({ isNew: true });
  expect(await set({ cron: "0 3 * * *" })).toMatchObject({ isNew: false });
  expect(await people().schedules()).toMatchObject([{ name: "nightly", cron: "0 3 * * *" }]);
  const [kept] = await submit({});
  await people().removeSchedule({ name: "nightly" });
  expect([await people().schedules(), (await submitted()).map(({ id }) => id)]).toEqual([[], [kept]]);
  await expect(people().removeSchedule({ name: "nightly" })).rejects.toEqual(fault("NOT_FOUND"));
  const viewer = callAs(test.hub, "viewer").jobs;
  await expect(viewer.setSchedule({ name: "x", cron: "0 3 * * *", job })).rejects.toThrow();
});
