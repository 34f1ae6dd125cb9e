import { z } from "zod";
import { manifest, type Manifest } from "#protocol/checkpoint.ts";
import type { NodeMessage } from "#protocol/commands.ts";
import {
  claimEpochInput,
  enrolInput,
  helloInput,
  type ClaimAnswer,
  type EnrolAnswer,
  type HelloAnswer,
  type NodeSettings,
} from "#protocol/hello.ts";
import { id } from "#protocol/names.ts";
import { operation, SIGN_BATCH, type SignedRequest } from "#protocol/operations.ts";
import { captureAnnouncement, progressReport, recordInput } from "#protocol/reports.ts";
import { byId, createTokenInput } from "#protocol/requests.ts";
import type { NodeRow, SamplePoint, TokenView } from "#protocol/views.ts";
import { admin, node, open, operator, router, viewer } from "../trpc.ts";
import { soon, soonStream } from "../soon.ts";

const minutes = z.number().int().min(1).max(10_080);

/** What people ask about nodes. */
export const nodesRouter = router({
  list: viewer.query(() => soon<NodeRow[]>()),
  get: viewer.input(byId).query(() => soon<NodeRow>()),
  samples: viewer.input(z.object({ id, minutes })).query(() => soon<SamplePoint[]>()),
  revoke: admin.input(byId).mutation(() => soon<{ ok: true }>()),
});

export const tokensRouter = router({
  list: operator.query(() => soon<TokenView[]>()),
  create: operator.input(createTokenInput).mutation(() => soon<{ view: TokenView; token: string; hubUrl: string }>()),
  revoke: operator.input(byId).mutation(() => soon<{ ok: true }>()),
});

/** What nodes ask of the hub. */
export const nodeRouter = router({
  enrol: open.input(enrolInput).mutation(() => soon<EnrolAnswer>()),
  hello: node.input(helloInput).mutation(() => soon<HelloAnswer>()),
  stream: node.input(z.object({ bootId: id })).subscription(() => soonStream<NodeMessage>()),
  progress: node.input(progressReport).mutation(() => soon<{ settings: NodeSettings }>()),
  record: node.input(recordInput).mutation(() => soon<{ acceptedThrough: number }>()),
  claimEpoch: node.input(claimEpochInput).mutation(() => soon<ClaimAnswer>()),
  announce: node.input(captureAnnouncement).mutation(() => soon<{ ok: true }>()),
  sign: node
    .input(z.object({ operations: z.array(operation).min(1).max(SIGN_BATCH) }))
    .mutation(() => soon<{ requests: SignedRequest[] }>()),
  commit: node.input(z.object({ manifest })).mutation(() => soon<{ sha256: string }>()),
  readCheckpoint: node
    .input(z.object({ checkpointId: id }))
    .query(() => soon<{ manifest: Manifest; sha256: string }>()),
  goodbye: node.mutation(() => soon<{ ok: true }>()),
});
