import { join } from "node:path";
import { expect } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { systemClock } from "../base/clock.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import type { TrialStore } from "../testing/trial-store.ts";
import { uploaderTest } from "../testing/uploader-trial.ts";
import { createCopier } from "./copier.ts";
import type { CopierParts } from "./copier-parts.ts";
import { openCopyLedger, type CopyLedger } from "./copy-ledger.ts";

const CLAIM = { epoch: 3, parent: null, newest: null };
const other = ({ access }: TrialStore) => ({
  profileId: "profile-id-2",
  profileName: "other",
  bucket: "trial",
  prefix: "other/",
  endpoint: access.endpoint,
  traits: access.traits,
});

interface Begun {
  ledger: CopyLedger;
  events: Parameters<CopierParts["outbox"]["add"]>[0][];
  /** Starts a copier; it ends when this many copies are reported as ended. */
  start(answers: Parameters<typeof createFakeHub>[0], about: { ends: number; isBusy?(): boolean }): Started;
}
interface Started {
  hub: ReturnType<typeof createFakeHub>;
  copier: ReturnType<typeof createCopier>;
  done: Promise<void>;
}

/** A copier to one other home, in the bucket of the trial store. */
const test = uploaderTest.extend<{ begun: Begun }>({
  begun: async ({ store, trial }, provide) => {
    const ledger = await openCopyLedger(join(trial.folder, "copies.jsonl"));
    const events: Begun["events"] = [];
    const home = other(store);
    const start: Begun["start"] = (answers, { ends, isBusy = () => false }) => {
      const stop = new AbortController();
      const hub = createFakeHub({ beginCopy: () => ({ isWanted: true }), commitCopy: () => ({}), ...answers });
      const copier = createCopier({
        hub,
        outbox: {
          add: async (event) => {
            events.push(event);
            if (events.length >= ends) setImmediate(() => stop.abort(new Fault("CANCELLED")));
          },
        },
        clock: systemClock,
        wallNow: Date.now,
        journals: join(trial.folder, "uploads"),
        node: () => ({ id: "node-id-1", name: "gpu-1" }),
        signal: stop.signal,
        ledger,
        homes: {
          owed: () => [home.profileId],
          storeOf: () => home,
          watch: () => null,
          noteBack: () => undefined,
          elsewhere: async () => null,
        },
        own: () => null,
        storeSession: () => ({ engine: store.engine(), store: home }),
        isBusy,
        isHeld: () => false,
      });
      return { hub, copier, done: copier.run() };
    };
    await provide({ ledger, events, start });
    await ledger.close();
  },
});

test("what is safe in one home is sent to the other, committed there and reported as a copy", async ({
  trial,
  begun: { ledger, events, start },
}) => {
  const taken = await trial.capture(100);
  let committed: unknown = null;
  const commitCopy = (input: { manifest: unknown }) => (committed = input.manifest);
  const { hub, copier, done } = start({ commitCopy }, { ends: 1 });
  expect(await copier.keep({ ...taken, epoch: 3 }, CLAIM)).toBe(true);
  await done;
  expect(hub.asked).toEqual(["beginCopy", "commitCopy"]);
  expect(committed).toMatchObject({
    id: taken.id,
    step: 100,
    homes: [{ profileId: "profile-id-2", prefix: "other/" }],
  });
  expect(events).toMatchObject([
    { type: "transfer-ended", direction: "copy", state: "done", step: 100, sentBytes: 11_000_000 },
  ]);
  expect(ledger.all()).toEqual([]);
});

test("of two that wait for the same home only the newest is begun, and the older one is passed over", async ({
  trial,
  begun: { events, start },
}) => {
  const [older, newer] = [await trial.capture(100), await trial.capture(200)];
  const asked: unknown[] = [];
  const beginCopy = ({ checkpointId }: { checkpointId: string }) => {
    asked.push(checkpointId);
    return { isWanted: false };
  };
  let isBusy = true;
  const { copier, done } = start({ beginCopy }, { ends: 2, isBusy: () => isBusy });
  await copier.keep({ ...older, epoch: 3, capturedAt: 100 }, CLAIM);
  await copier.keep({ ...newer, epoch: 3, capturedAt: 200 }, CLAIM);
  isBusy = false;
  copier.wake();
  await done;
  expect(asked).toEqual([newer.id]);
  expect(events).toMatchObject([
    { state: "superseded", step: 100 },
    { state: "superseded", step: 200 },
  ]);
});

test("a copy that the store lost is sent again under keys never used before", async ({
  trial,
  begun: { ledger, start },
}) => {
  const taken = await trial.capture(100);
  const attempts: unknown[] = [];
  const beginCopy = ({ attempt }: { attempt: string }) => {
    attempts.push(attempt);
    throw new Fault("NO_SUCH_KEY");
  };
  const { copier, done } = start({ beginCopy }, { ends: 1 });
  await copier.keep({ ...taken, epoch: 3 }, CLAIM);
  while (copier.progress()[0]?.fault?.code !== "NO_SUCH_KEY") await systemClock.sleep(5);
  expect(ledger.all()[0]?.capture.attempt).not.toBe(attempts[0]);
  const [item] = ledger.all();
  await copier.steer(item?.capture.transferId ?? "", "cancel");
  await done;
  expect(attempts).toHaveLength(1);
});

test("nothing is copied while the node has something of its own to move", async ({ trial, begun: { start } }) => {
  const taken = await trial.capture(100);
  const seen = { looks: 0, looksBeforeCopy: 0 };
  const beginCopy = () => {
    seen.looksBeforeCopy = seen.looks;
    return { isWanted: false };
  };
  const { hub, copier, done } = start({ beginCopy }, { ends: 1, isBusy: () => ++seen.looks < 3 });
  await copier.keep({ ...taken, epoch: 3 }, CLAIM);
  while (hub.asked.length === 0) {
    copier.wake();
    await systemClock.sleep(5);
  }
  await done;
  expect(seen.looksBeforeCopy).toBeGreaterThanOrEqual(3);
});
