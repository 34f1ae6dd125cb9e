import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { branchOfRow } from "../runs/passed-over.ts";
import { isSameBranch, type LineBranch } from "#protocol/checkpoint/line-branch.ts";
import type { ClaimAnswer, ClaimFrom, claimEpochInput } from "#protocol/wire/hello.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { Epoch } from "#prisma/client/client.ts";
import type { Hub } from "../api/hub.ts";
import { hearCaller } from "../nodes/hear-caller.ts";
import type { GroupClaim } from "#protocol/checkpoint/pieces.ts";
import type { Context } from "../api/trpc.ts";
import { requireJoinable } from "../runs/require-joinable.ts";
import { chooseStart } from "./choose-start.ts";
import { findGroupPlace, findLine, joinEpoch } from "./claim-for-group.ts";
import { markPrefix } from "../profiles/mark-prefix.ts";
import {
  answerOf,
  claimInBucket,
  MOST_TRIES,
  nextEpoch,
  openEpoch,
  openRun,
  readHomes,
  recordClaim,
  startOf,
  unlessFault,
  type Newest,
  type Parent,
} from "./open-epoch.ts";
import { joinOpen } from "../checkpoints/join-step.ts";
import { notingRefusal, requireAllowed, requireFree, requireSameWay, type Claimant } from "./may-claim.ts";
import { currentEpoch, doubtfulAfter, newestComplete, newestOfStep } from "../runs/newest.ts";
import { requireWriter } from "../runs/require-writer.ts";
import type { NodeCaller } from "../api/caller.ts";

/**
 * Claims the right to write a run. The node of the latest epoch goes on with it. Any other node opens the next epoch, which
 * starts from the newest complete checkpoint and fences off its predecessor. The claim is written to the bucket, under a
 * write-once key, before the database. So a hub that lost its database cannot hand out the same number twice. A hub that does
 * not know the run, or finds a claim that its database lacks, first reads the run's history from the bucket. Such a claim
 * counts if a killed hub wrote it for this very node. Otherwise it comes from a history that the database has lost, and
 * numbers continue well above it. `may-claim` decides which node may open the next epoch.
 */

/**
 * Claims the run for the calling node. `from` in the input is the start that a person chose. The epoch it opens is the run's
 * line from then on. The same value again goes on with that line, so a container restarted with the same command loses no
 * work. @throws Fault RUN_NOT_ALLOWED, RUN_IN_USE, NODE_REVOKED, CONFLICT, NOT_FOUND (no complete checkpoint of that step),
 * and the faults of the store
 */
export async function claimEpoch(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof claimEpochInput>,
): Promise<ClaimAnswer> {
  const node = await hearCaller({ hub, caller });
  const { run, from, isLine = false, branch, lineAfter, group } = input;
  return hub.locks.run(`run ${run}`, () =>
    notingRefusal({ hub, run, node }, async () => {
      await requireAllowed({ hub, run, node });
      const highestSeen = await openRun({ hub, run, node }, group !== undefined);
      await requireSameWay({ hub, run, node });
      const wantsLine = isLine || lineAfter !== undefined;
      if (group !== undefined && wantsLine)
        return claimLineTogether({ hub, run, node }, { highestSeen, group, branch, lineAfter });
      if (group !== undefined) return claimTogether({ hub, run, node }, { highestSeen, group, from });
      await requireFree({ hub, run, node }, await currentEpoch(hub.db, run));
      // The prefix gets its marker here too, because an earlier version of the hub wrote none. A failure to write it
      // blocks no claim.
      await markPrefix(hub, await hub.stores.open(node.profileId)).catch(unlessFault);
      if (isLine) return claimLine({ hub, run, node }, { highestSeen, branch });
      if (from === undefined) return withDoubtful(hub, run, await claimNewest({ hub, run, node }, highestSeen));
      const chosen = await chooseStart(hub.db, run, from);
      if (chosen === "as it is")
        return { ...(await claimNewest({ hub, run, node }, highestSeen)), from: { isNew: false } };
      return { ...(await claimChosen({ hub, run, node }, { highestSeen, chosen })), from: { isNew: true } };
    }),
  );
}

/**
 * Claims the run of a job for the node that is handed the job. The person who submitted the job has decided that it takes the
 * run over, so neither patterns nor the present writer refuse it. @throws Fault NODE_REVOKED, CONFLICT, and the faults of the
 * store
 */
export const claimForJob = ({ hub, run, node }: Claimant): Promise<ClaimAnswer> =>
  hub.locks.run(`run ${run}`, async () => {
    const highestSeen = await openRun({ hub, run, node });
    await markPrefix(hub, await hub.stores.open(node.profileId)).catch(unlessFault);
    return withDoubtful(hub, run, await claimNewest({ hub, run, node }, highestSeen));
  });

/**
 * Opens an epoch that starts at the beginning, for a program that started over. Older checkpoints stay the newest until the
 * new line has a complete one. Asked again with the same branch, it returns the line that is open. @throws Fault EPOCH_OVER when another node writes the run by now
 */
async function claimLine(
  { hub, run, node }: Claimant,
  { highestSeen, branch }: { highestSeen: number; branch: LineBranch | undefined },
): Promise<ClaimAnswer> {
  const writer = await currentEpoch(hub.db, run);
  if (writer !== null) await requireWriter(hub.db, { run, epoch: writer.epoch, nodeId: node.id });
  const newest = await newestComplete(hub.db, run);
  if (writer !== null && isSameBranch(branchOfRow(writer.branch), branch)) return answerOf(writer, newest);
  if (writer !== null && branch !== undefined && branch.after.epoch !== writer.epoch) {
    const detail = `the line follows epoch ${branch.after.epoch}, and the run is at ${writer.epoch}`;
    throw new Fault("EPOCH_OVER", { op: "claimEpoch", subject: run, detail });
  }
  return openEpoch({ hub, run, node }, { highestSeen, parent: null, isLine: true, newest, branch });
}

/**
 * Opens an epoch for a new line of one of several nodes that write the run together, or joins the line that another of them has
 * opened. `lineAfter`: only joins. @throws Fault EPOCH_OVER when the node is not of the group that writes the run
 */
async function claimLineTogether(
  claimant: Claimant,
  about: { highestSeen: number; group: GroupClaim; branch: LineBranch | undefined; lineAfter: number | undefined },
): Promise<ClaimAnswer> {
  const { hub, run, node } = claimant;
  const { highestSeen, group, branch, lineAfter } = about;
  const since = lineAfter ?? branch?.after.epoch;
  const line = since === undefined ? null : await findLine(claimant, { group, since, step: branch?.step });
  const newest = await newestComplete(hub.db, run);
  if (line !== null) {
    await joinEpoch(claimant, line, group);
    return answerOf(line, newest);
  }
  const writer = await currentEpoch(hub.db, run);
  if (writer === null || lineAfter !== undefined)
    throw new Fault("EPOCH_OVER", { op: "claimEpoch", subject: run, detail: "no node of the group began a new line" });
  await requireWriter(hub.db, { run, epoch: since ?? writer.epoch, nodeId: node.id });
  return openEpoch(claimant, { highestSeen, parent: null, isLine: true, newest, branch, group });
}

/** Claims for one of several nodes that write the run together: it joins the others' epoch, or opens the next one. */
async function claimTogether(
  claimant: Claimant,
  about: { highestSeen: number; group: GroupClaim; from: ClaimFrom | undefined },
): Promise<ClaimAnswer> {
  const { hub, run } = claimant;
  const { highestSeen, group, from } = about;
  await requireJoinable(hub, run);
  await joinOpen(hub, run);
  const chosen = from === undefined ? ("as it is" as const) : await chooseStart(hub.db, run, from);
  const isNew = chosen !== "as it is";
  const last = await currentEpoch(hub.db, run);
  const place = await findGroupPlace(claimant, { group, last, highestSeen });
  const said = from === undefined ? {} : { from: { isNew } };
  if (isNew || last === null || place === "open") {
    const newest = isNew ? chosen : await newestComplete(hub.db, run);
    const at = { highestSeen, parent: newest, isLine: !isNew, newest, group };
    return withDoubtful(hub, run, { ...(await openEpoch(claimant, at)), ...said });
  }
  if (place === "join") await joinEpoch(claimant, last, group);
  // All nodes of a group resume from the same checkpoint, even if a newer one has become complete.
  const isAtStart = place === "join" || group.start !== undefined;
  const newest = isAtStart ? await parentCheckpoint(hub, last) : await newestComplete(hub.db, run);
  return withDoubtful(hub, run, { ...answerOf(last, newest), ...said });
}

/** Returns the checkpoint that an epoch started from. */
async function parentCheckpoint(hub: Hub, { run, parentEpoch, parentStep }: Epoch): Promise<Newest> {
  if (parentEpoch === null || parentStep === null) return null;
  const which = { run, writerEpoch: parentEpoch, step: parentStep, state: "complete", role: null };
  const found = await hub.db.checkpoint.findFirst({ where: which, orderBy: { committedAt: "desc" } });
  return found ?? newestOfStep(hub.db, run, Number(parentStep));
}

/** Opens an epoch that starts from the checkpoint that a person chose; null: at the beginning. */
function claimChosen(
  claimant: Claimant,
  { highestSeen, chosen }: { highestSeen: number; chosen: Newest },
): Promise<ClaimAnswer> {
  return openEpoch(claimant, { highestSeen, parent: chosen, isLine: false, newest: chosen });
}

/** Adds the newer but doubtful checkpoint that a person might prefer to resume from. */
async function withDoubtful(hub: Hub, run: RunName, answer: ClaimAnswer): Promise<ClaimAnswer> {
  const { newest } = answer;
  const after = newest === null ? null : { writerEpoch: newest.writerEpoch, step: BigInt(newest.step) };
  const found = await doubtfulAfter(hub.db, run, after);
  return found === null ? answer : { ...answer, doubtful: { step: Number(found.step), why: found.doubt ?? "" } };
}

async function claimNewest({ hub, run, node }: Claimant, seen: number): Promise<ClaimAnswer> {
  let highestSeen = seen;
  const before = await currentEpoch(hub.db, run);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const last = tries === 0 ? before : await currentEpoch(hub.db, run);
    const newest = await newestComplete(hub.db, run);
    const parent = newest === null ? null : { epoch: newest.writerEpoch, step: Number(newest.step) };
    const goesOn = startOf(newest);
    const claim = { hub, run, node, last, parent, goesOn, isChosen: false, isLine: false };
    if (last !== null && last.nodeId === node.id && last.epoch >= highestSeen) {
      if (last.epoch === before?.epoch) return answerOf(last, newest);
      if (goesOnFrom(last, parent)) return answerOf(await recordClaim({ ...claim, last: before }, last.epoch), newest);
    }
    const epoch = nextEpoch(last, highestSeen);
    const taken = await claimInBucket(claim, epoch);
    if (taken.length === 0) return answerOf(await recordClaim(claim, epoch), newest);
    highestSeen = Math.max(epoch, await readHomes(hub, run, taken));
  }
  throw new Fault("CONFLICT", { op: "claimEpoch", subject: run });
}

/** Returns whether an earlier epoch started from, or has itself written, the checkpoint that its node would resume from now. */
const goesOnFrom = ({ epoch, parentEpoch, parentStep }: Epoch, parent: Parent): boolean =>
  parent?.epoch === epoch ||
  (parentEpoch === (parent?.epoch ?? null) && parentStep === (parent === null ? null : BigInt(parent.step)));
