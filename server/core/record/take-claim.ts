import { epochClaim } from "#protocol/checkpoint/checkpoint.ts";
import { epochClaimKey } from "#protocol/checkpoint/keys.ts";
import { ensureNode } from "./ensure-node.ts";
import { readJson, refused, type HistoryKind } from "./history-kind.ts";

/** Epoch claims: which node may write a run from an epoch on. */
export const EPOCH_CLAIMS: HistoryKind = {
  folder: "epochs",
  mostBytes: 64 * 1024,
  epochOf: (name) => {
    const match = /^e(\d{6})\.json$/.exec(name);
    return match === null ? null : Number(match[1]);
  },
  isKnown: async ({ db, store, run }, key) => {
    const epoch = Number(/e(\d{6})\.json$/.exec(key)?.[1]);
    if (key !== epochClaimKey(store.prefix, { run, epoch })) return false;
    return (await db.epoch.findUnique({ where: { run_epoch: { run, epoch } } })) !== null;
  },
  take: async ({ db, store, run, now }, object) => {
    const parsed = epochClaim.safeParse(readJson(object));
    if (!parsed.success) throw refused(object, parsed.error.issues[0]?.message ?? "it is no claim");
    const { epoch, parent, node, claimedAt, isChosen = false, groupOf = null, branch } = parsed.data;
    if (parsed.data.run !== run || epochClaimKey(store.prefix, parsed.data) !== object.key) {
      throw refused(object, "it speaks of another epoch than its key");
    }
    await db.$transaction(async (tx) => {
      await ensureNode(tx, node, { profileId: store.profileId, now });
      await tx.epoch.create({
        data: {
          run,
          epoch,
          parentEpoch: parent?.epoch ?? null,
          parentStep: parent === null ? null : BigInt(parent.step),
          nodeId: node.id,
          claimedAt: new Date(Math.min(Math.max(claimedAt, 0), now)),
          isChosen,
          groupOf,
          branch: branch === undefined ? null : JSON.stringify(branch),
        },
      });
    });
    return true;
  },
  countMissing: async () => 0,
};
