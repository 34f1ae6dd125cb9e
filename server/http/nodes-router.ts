import * as z from "zod";
import { commitInput } from "#protocol/checkpoint/checkpoint.ts";
import {
  claimEpochInput,
  confirmCompleteInput,
  enrolInput,
  findCheckpointInput,
  helloInput,
  listKeptInput,
  doubtInput,
  openPiecesInput,
  restorePointsInput,
  rotateInput,
} from "#protocol/wire/hello.ts";
import { beginCopyInput, commitCopyInput, runHomesInput } from "#protocol/wire/homes.ts";
import { id } from "#protocol/base/names.ts";
import { endJobInput, jobStatesInput, takeJobInput } from "#protocol/jobs/node-jobs.ts";
import { nextJobInput, readJobPlaceInput, signForJobInput } from "#protocol/jobs/job-bytes.ts";
import { keepLogPartInput } from "#protocol/jobs/job-log.ts";
import { operation, SIGN_BATCH } from "#protocol/wire/operations.ts";
import { probeReport, probeTargetInput, reallocateInput } from "#protocol/links/probe.ts";
import { captureAnnouncement, progressReport, recordInput } from "#protocol/wire/reports.ts";
import { byId, byIdOrName, createTokenInput, setNodeRunsInput } from "#protocol/wire/requests.ts";
import { releaseKeyInput } from "#protocol/checkpoint/sealing.ts";
import { tellSumsInput } from "#protocol/checkpoint/adopted.ts";
import { tellSums } from "../features/external-checkpoints/tell-sums.ts";
import { benchBeginInput, benchCaseInput } from "#protocol/benchmarks/turn.ts";
import { benchTargetInput, endOwnBenchInput, startOwnBenchInput } from "#protocol/benchmarks/own-bench.ts";
import { benchEnd, benchStart, benchTarget } from "../features/benchmarks/own-bench.ts";
import { benchBegin, benchCase, benchSign, benchTurn } from "../features/benchmarks/take-turn.ts";
import { announce } from "../core/checkpoints/announce.ts";
import { claimEpoch } from "../core/claims/claim-epoch.ts";
import { commit } from "../core/checkpoints/commit.ts";
import { confirmComplete } from "../core/checkpoints/confirm-complete.ts";
import { continueNode } from "../core/runs/advise-continue.ts";
import { tellRestorePoints } from "../core/checkpoints/tell-restore-points.ts";
import { findCheckpoint } from "../core/runs/find.ts";
import { listKept } from "../core/runs/list-kept.ts";
import { doubtLater } from "../features/verification/doubt-later.ts";
import { openPieces } from "../core/checkpoints/open-pieces.ts";
import { readCheckpoint } from "../core/checkpoints/read-checkpoint.ts";
import { sign } from "../core/checkpoints/sign.ts";
import { fallBack } from "../features/restores/fall-back.ts";
import { recordFindings } from "../features/verification/record-findings.ts";
import { endJob } from "../features/jobs/end-job.ts";
import { keepLogPart } from "../features/jobs/logs/keep-log-part.ts";
import { nextJob } from "../features/jobs/bytes/next-job.ts";
import { readJobPlace } from "../features/jobs/bytes/read-job-place.ts";
import { signForJob } from "../features/jobs/bytes/sign-for-job.ts";
import { takeJob } from "../features/jobs/take-job.ts";
import { tellStates } from "../features/jobs/tell-states.ts";
import { mayReallocate } from "../features/reallocation/may-reallocate.ts";
import { probeTarget } from "../features/reallocation/probe-target.ts";
import { recordProbe } from "../features/reallocation/record-probe.ts";
import { beginCopy } from "../features/replicas/begin-copy.ts";
import { commitCopy } from "../features/replicas/commit-copy.ts";
import { tellHomes } from "../features/replicas/tell-homes.ts";
import { listMinutes } from "../core/history/list-minutes.ts";
import { minutes } from "../core/live/minutes.ts";
import { releaseKey } from "../features/encryption/release-key.ts";
import { acceptReport } from "../core/transfers/accept-report.ts";
import { admin, node, open, operator, router, viewer } from "../core/api/trpc.ts";
import { enrol } from "../core/nodes/enrol.ts";
import { goodbye } from "../core/nodes/goodbye.ts";
import { hello } from "../core/nodes/hello.ts";
import { listNodes, readNode } from "../core/nodes/list.ts";
import { readLines } from "../core/checkpoints/read-lines.ts";
import { readWords } from "../core/nodes/read-words.ts";
import { record } from "../core/transfers/record.ts";
import type { OnTransferEnded } from "../core/transfers/record-scope.ts";
import { revokeNode } from "../core/nodes/revoke.ts";
import { askOne, rotate } from "../core/nodes/rotate.ts";
import { setNodeRuns } from "../core/nodes/set-runs.ts";
import { streamToNode } from "../core/nodes/stream.ts";
import { createToken, listTokens, revokeToken } from "../core/nodes/tokens.ts";

/** Hooks for the end of a transfer, in order: `fallBack` needs what `recordFindings` has recorded. */
const ON_TRANSFER_ENDED: readonly OnTransferEnded[] = [recordFindings, fallBack];

const signInput = z.object({
  operations: z.array(operation).min(1).max(SIGN_BATCH),
  /** Bucket profile; default: the node's own. */
  profileId: id.optional(),
});

/** Procedures about nodes, for people. */
export const nodesRouter = router({
  list: viewer.query(({ ctx }) => listNodes(ctx.hub)),
  get: viewer.input(byIdOrName).query(({ ctx, input }) => readNode(ctx.hub, input.id)),
  lines: viewer.input(byId).query(({ ctx, input }) => readLines(ctx.hub, input.id)),
  continueFrom: viewer.input(byIdOrName).query(({ ctx, input }) => continueNode(ctx.hub, input.id)),
  words: viewer.input(byId).query(({ ctx, input }) => readWords(ctx.hub, input.id)),
  samples: viewer
    .input(z.object({ id, minutes }))
    .query(({ ctx, input }) => listMinutes(ctx.hub, { nodeId: input.id, minutes: input.minutes })),
  setRuns: operator.input(setNodeRunsInput).mutation(({ ctx, input }) => setNodeRuns(ctx, input)),
  revoke: admin.input(byId).mutation(({ ctx, input }) => revokeNode(ctx, input)),
  rotateCredential: admin.input(byId).mutation(({ ctx, input }) => askOne(ctx, input)),
});

export const tokensRouter = router({
  list: operator.query(({ ctx }) => listTokens(ctx.hub)),
  create: operator.input(createTokenInput).mutation(({ ctx, input }) => createToken(ctx, input)),
  revoke: operator.input(byId).mutation(({ ctx, input }) => revokeToken(ctx, input)),
});

/** Procedures that nodes call. */
export const nodeRouter = router({
  enrol: open.input(enrolInput).mutation(({ ctx, input }) => enrol(ctx, input)),
  hello: node.input(helloInput).mutation(({ ctx, input }) => hello(ctx, input)),
  stream: node
    .input(z.object({ bootId: id }))
    .subscription(({ ctx, signal }) => streamToNode(ctx, signal ?? ctx.hub.closing)),
  progress: node.input(progressReport).mutation(({ ctx, input }) => acceptReport(ctx, input)),
  record: node.input(recordInput).mutation(({ ctx, input }) => record(ctx, input, ON_TRANSFER_ENDED)),
  claimEpoch: node.input(claimEpochInput).mutation(({ ctx, input }) => claimEpoch(ctx, input)),
  announce: node.input(captureAnnouncement).mutation(({ ctx, input }) => announce(ctx, input)),
  sign: node.input(signInput).mutation(({ ctx, input }) => sign(ctx, input)),
  commit: node.input(commitInput).mutation(({ ctx, input }) => commit(ctx, input)),
  doubt: node.input(doubtInput).mutation(({ ctx, input }) => doubtLater(ctx, input)),
  releaseKey: node.input(releaseKeyInput).mutation(({ ctx, input }) => releaseKey(ctx, input)),
  homes: node.input(runHomesInput).query(({ ctx, input }) => tellHomes(ctx, input)),
  beginCopy: node.input(beginCopyInput).mutation(({ ctx, input }) => beginCopy(ctx, input)),
  commitCopy: node.input(commitCopyInput).mutation(({ ctx, input }) => commitCopy(ctx, input)),
  readCheckpoint: node
    .input(
      z.object({
        checkpointId: id,
        profileId: id.optional(),
        asStored: z.boolean().optional(),
        withArchived: z.boolean().optional(),
      }),
    )
    .query(({ ctx, input }) => readCheckpoint(ctx, input)),
  tellSums: node.input(tellSumsInput).mutation(({ ctx, input }) => tellSums(ctx, input)),
  findCheckpoint: node.input(findCheckpointInput).query(({ ctx, input }) => findCheckpoint(ctx, input)),
  confirmComplete: node.input(confirmCompleteInput).query(({ ctx, input }) => confirmComplete(ctx, input)),
  listKept: node.input(listKeptInput).query(({ ctx, input }) => listKept(ctx, input)),
  restorePoints: node.input(restorePointsInput).query(({ ctx, input }) => tellRestorePoints(ctx, input)),
  openPieces: node.input(openPiecesInput).query(({ ctx, input }) => openPieces(ctx, input)),
  probeTarget: node.input(probeTargetInput).query(({ ctx, input }) => probeTarget(ctx, input)),
  probed: node.input(probeReport).mutation(({ ctx, input }) => recordProbe(ctx, input)),
  mayReallocate: node.input(reallocateInput).mutation(({ ctx, input }) => mayReallocate(ctx, input)),
  rotate: node.input(rotateInput).mutation(({ ctx, input }) => rotate(ctx, input)),
  benchTarget: node.input(benchTargetInput).query(({ ctx, input }) => benchTarget(ctx, input)),
  benchStart: node.input(startOwnBenchInput).mutation(({ ctx, input }) => benchStart(ctx, input)),
  benchEnd: node.input(endOwnBenchInput).mutation(({ ctx, input }) => benchEnd(ctx, input)),
  benchTurn: node.input(z.object({ turnId: id })).query(({ ctx, input }) => benchTurn(ctx, input)),
  benchBegin: node.input(benchBeginInput).mutation(({ ctx, input }) => benchBegin(ctx, input)),
  benchCase: node.input(benchCaseInput).mutation(({ ctx, input }) => benchCase(ctx, input)),
  benchSign: node.input(signInput.extend({ turnId: id })).mutation(({ ctx, input }) => benchSign(ctx, input)),
  takeJob: node
    .input(takeJobInput)
    .mutation(({ ctx, input, signal }) => takeJob({ ...ctx, signal: signal ?? ctx.hub.closing }, input)),
  nextJob: node.input(nextJobInput).mutation(({ ctx, input }) => nextJob(ctx, input)),
  jobStates: node.input(jobStatesInput).mutation(({ ctx, input }) => tellStates(ctx, input)),
  signForJob: node.input(signForJobInput).mutation(({ ctx, input }) => signForJob(ctx, input)),
  readJobPlace: node.input(readJobPlaceInput).mutation(({ ctx, input }) => readJobPlace(ctx, input)),
  keepLogPart: node.input(keepLogPartInput).mutation(({ ctx, input }) => keepLogPart(ctx, input)),
  endJob: node.input(endJobInput).mutation(({ ctx, input }) => endJob(ctx, input)),
  goodbye: node.mutation(({ ctx }) => goodbye(ctx)),
});
