import { expect } from "vitest";
import { systemClock } from "../base/clock.ts";
import { uploaderTest as test } from "../testing/uploader-trial.ts";

const LATER = { until: Date.now() + 3_600_000, isPart: true };

test("the bytes of an open capture are sent at once, and it is committed when its wait ends; the next one does not wait for it", async ({
  trial: { ledger, capture, work, ended, ends },
}) => {
  const first = await capture(100);
  await ledger.update(first.id, { open: LATER });
  const { hub, uploader, done } = await work({}, ended(2));
  while (!uploader.uncommitted.has(first.id)) await systemClock.sleep(5);
  expect(hub.asked).not.toContain("commit");
  expect(ledger.safe("llama")).toBeNull();
  await capture(200);
  uploader.wake();
  while (ends.length === 0) await systemClock.sleep(5);
  expect(ends).toEqual([{ state: "done", step: 200 }]);
  await ledger.update(first.id, { open: null });
  uploader.wake();
  await done;
  expect(ends.at(-1)).toEqual({ state: "done", step: 100 });
});

test("the wait of an open capture ends by its time, without a word of anybody", async ({
  trial: { ledger, capture, work, ended, ends },
}) => {
  const taken = await capture(100);
  await ledger.update(taken.id, { open: { until: Date.now() + 300, isPart: true } });
  const manifests: { doubt?: string }[] = [];
  const commit = (input: { manifest: { doubt?: string } }) => (manifests.push(input.manifest), { sha256: "" });
  await (
    await work({ commit }, ended(1))
  ).done;
  expect(ends).toEqual([{ state: "done", step: 100 }]);
  expect(manifests.map(({ doubt }) => doubt)).toEqual([undefined]);
});

test("a doubt that arises after the bytes were sent is in the manifest, and nothing is safe by it", async ({
  trial: { ledger, capture, work, ended },
}) => {
  const taken = await capture(100);
  await ledger.update(taken.id, { open: LATER });
  const manifests: { doubt?: string }[] = [];
  const commit = (input: { manifest: { doubt?: string } }) => (manifests.push(input.manifest), { sha256: "" });
  const { uploader, done } = await work({ commit }, ended(1));
  while (!uploader.uncommitted.has(taken.id)) await systemClock.sleep(5);
  await ledger.update(taken.id, { open: null, doubt: "optim_100.pt is missing" });
  uploader.wake();
  await done;
  expect(manifests.map(({ doubt }) => doubt)).toEqual(["optim_100.pt is missing"]);
  expect(ledger.safe("llama")).toBeNull();
});

test("an open capture that another one of its step replaces is never committed", async ({
  trial: { ledger, capture, work, ended, ends },
}) => {
  const half = await capture(100);
  await ledger.update(half.id, { open: LATER });
  const committed: string[] = [];
  const commit = (input: { manifest: { id: string } }) => (committed.push(input.manifest.id), { sha256: "" });
  const { uploader, done } = await work({ commit }, ended(2));
  while (!uploader.uncommitted.has(half.id)) await systemClock.sleep(5);
  const whole = await capture(101);
  await ledger.update(half.id, { replacedBy: whole.id });
  uploader.wake();
  await done;
  expect(committed).toEqual([whole.id]);
  expect(ends).toEqual(expect.arrayContaining([{ state: "superseded", step: 100 }]));
});

test("when the machine will be gone an open capture of a part is committed as doubtful, any other as it is", async ({
  trial: { ledger, capture, work, ended },
}) => {
  const part = await capture(100);
  await ledger.update(part.id, { open: LATER });
  const manifests: { step: number; doubt?: string }[] = [];
  const commit = (input: { manifest: { step: number; doubt?: string } }) => (
    manifests.push(input.manifest),
    { sha256: "" }
  );
  const { uploader, done } = await work({ commit }, ended(2));
  while (!uploader.uncommitted.has(part.id)) await systemClock.sleep(5);
  const any = await capture(200);
  await ledger.update(any.id, { open: { ...LATER, isPart: false } });
  uploader.wake();
  while (!uploader.uncommitted.has(any.id)) await systemClock.sleep(5);
  await uploader.drain();
  await done;
  expect(manifests.map(({ step, doubt }) => [step, doubt === undefined])).toEqual([
    [100, false],
    [200, true],
  ]);
});
