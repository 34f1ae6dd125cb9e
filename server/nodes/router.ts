import * as z from "zod";
import { manifest } from "#protocol/checkpoint.ts";
import { claimEpochInput, enrolInput, findCheckpointInput, helloInput, rotateInput } from "#protocol/hello.ts";
import { id } from "#protocol/names.ts";
import { operation, SIGN_BATCH } from "#protocol/operations.ts";
import { probeReport, probeTargetInput, reallocateInput } from "#protocol/probe.ts";
import { captureAnnouncement, progressReport, recordInput } from "#protocol/reports.ts";
import { byId, createTokenInput } from "#protocol/requests.ts";
import { tellSumsInput } from "#protocol/adopted.ts";
import { tellSums } from "../adopt/tell-sums.ts";
import { announce } from "../checkpoints/announce.ts";
import { claimEpoch } from "../checkpoints/claim-epoch.ts";
import { commit } from "../checkpoints/commit.ts";
import { findCheckpoint } from "../checkpoints/find.ts";
import { readCheckpoint } from "../checkpoints/read-checkpoint.ts";
import { sign } from "../checkpoints/sign.ts";
import { mayReallocate } from "../governor/may-reallocate.ts";
import { probeTarget } from "../governor/probe-target.ts";
import { recordProbe } from "../governor/record-probe.ts";
import { listMinutes } from "../history/list-minutes.ts";
import { minutes } from "../live/minutes.ts";
import { acceptReport } from "../transfers/accept-report.ts";
import { admin, node, open, operator, router, viewer } from "../trpc.ts";
import { enrol } from "./enrol.ts";
import { goodbye } from "./goodbye.ts";
import { hello } from "./hello.ts";
import { listNodes, readNode } from "./list.ts";
import { record } from "./record.ts";
import { revokeNode } from "./revoke.ts";
import { askOne, rotate } from "./rotate.ts";
import { streamToNode } from "./stream.ts";
import { createToken, listTokens, revokeToken } from "./tokens.ts";

const signInput = z.object({ operations: z.array(operation).min(1).max(SIGN_BATCH) });

/** What people ask about nodes. */
export const nodesRouter = router({
  list: viewer.query(({ ctx }) => listNodes(ctx.hub)),
  get: viewer.input(byId).query(({ ctx, input }) => readNode(ctx.hub, input.id)),
  samples: viewer
    .input(z.object({ id, minutes }))
    .query(({ ctx, input }) => listMinutes(ctx.hub, { nodeId: input.id, minutes: input.minutes })),
  revoke: admin.input(byId).mutation(({ ctx, input }) => revokeNode(ctx, input)),
  rotateCredential: admin.input(byId).mutation(({ ctx, input }) => askOne(ctx, input)),
});

export const tokensRouter = router({
  list: operator.query(({ ctx }) => listTokens(ctx.hub)),
  create: operator.input(createTokenInput).mutation(({ ctx, input }) => createToken(ctx, input)),
  revoke: operator.input(byId).mutation(({ ctx, input }) => revokeToken(ctx, input)),
});

/** What nodes ask of the hub. */
export const nodeRouter = router({
  enrol: open.input(enrolInput).mutation(({ ctx, input }) => enrol(ctx, input)),
  hello: node.input(helloInput).mutation(({ ctx, input }) => hello(ctx, input)),
  stream: node
    .input(z.object({ bootId: id }))
    .subscription(({ ctx, signal }) => streamToNode(ctx, signal ?? ctx.hub.closing)),
  progress: node.input(progressReport).mutation(({ ctx, input }) => acceptReport(ctx, input)),
  record: node.input(recordInput).mutation(({ ctx, input }) => record(ctx, input)),
  claimEpoch: node.input(claimEpochInput).mutation(({ ctx, input }) => claimEpoch(ctx, input)),
  announce: node.input(captureAnnouncement).mutation(({ ctx, input }) => announce(ctx, input)),
  sign: node.input(signInput).mutation(({ ctx, input }) => sign(ctx, input)),
  commit: node.input(z.object({ manifest })).mutation(({ ctx, input }) => commit(ctx, input)),
  readCheckpoint: node.input(z.object({ checkpointId: id })).query(({ ctx, input }) => readCheckpoint(ctx, input)),
  tellSums: node.input(tellSumsInput).mutation(({ ctx, input }) => tellSums(ctx, input)),
  findCheckpoint: node.input(findCheckpointInput).query(({ ctx, input }) => findCheckpoint(ctx, input)),
  probeTarget: node.input(probeTargetInput).query(({ ctx, input }) => probeTarget(ctx, input)),
  probed: node.input(probeReport).mutation(({ ctx, input }) => recordProbe(ctx, input)),
  mayReallocate: node.input(reallocateInput).mutation(({ ctx, input }) => mayReallocate(ctx, input)),
  rotate: node.input(rotateInput).mutation(({ ctx, input }) => rotate(ctx, input)),
  goodbye: node.mutation(({ ctx }) => goodbye(ctx)),
});
