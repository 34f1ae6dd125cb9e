import { stepText } from "#protocol/checkpoint/step-words.ts";
import * as z from "zod";
import { isAdopted } from "#protocol/checkpoint/adopted.ts";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { OpenPieces } from "#protocol/wire/hello.ts";
import {
  isPiece,
  joinPieces,
  whyNotJoined,
  type PieceManifest,
  type PiecesOfStep,
} from "#protocol/checkpoint/join-pieces.ts";
import { attemptId } from "#protocol/base/names.ts";
import { formatBytes } from "#protocol/base/units.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { storedTextOf } from "../api/parsed-elsewhere.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { hashOf } from "#server/platform/random-id.ts";
import { placeToStore } from "../runs/place-of-row.ts";
import { parseStored } from "./manifest/stored-manifest.ts";
import { weighObjects } from "./manifest/weigh-objects.ts";
import { writeManifest } from "./manifest/write-manifest.ts";

/**
 * Joins the pieces that several nodes wrote of one step into one checkpoint, once all are complete. Until then each piece is
 * marked doubtful, with what is missing as the reason. The id is derived from the pieces: a hub killed midway finds its own
 * manifest and continues.
 */

/** The `piece` column: of a piece (`rank`), or of a checkpoint joined from pieces (`nodes`). */
const pieceColumn = z.object({
  of: z.number(),
  rank: z.number().optional(),
  nodes: z.array(z.string()).optional(),
});
type PieceColumn = z.infer<typeof pieceColumn>;

export const pieceOfRow = ({ piece }: Pick<Checkpoint, "piece">): PieceColumn | null => readStored(piece, pieceColumn);

/** Returns the `piece` column for a manifest. */
export function pieceToStore({ piece, joined }: Pick<Manifest, "piece" | "joined">): string | null {
  if (piece !== undefined) return JSON.stringify({ of: piece.of, rank: piece.rank } satisfies PieceColumn);
  if (joined === undefined) return null;
  const nodes = joined.pieces.map(({ node }) => node.name as string);
  return JSON.stringify({ of: joined.of, nodes } satisfies PieceColumn);
}

interface StepOf {
  run: string;
  writerEpoch: number;
  step: bigint;
}

/** The filter for pieces that are complete and not joined. */
const openOnes = { state: "complete", piece: { contains: '"rank"' }, joinedId: null };

async function readManifest(db: Pick<Transaction, "checkpointContent">, id: string): Promise<PieceManifest | null> {
  const content = await db.checkpointContent.findUnique({ where: { checkpointId: id }, select: { manifest: true } });
  if (content?.manifest == null) return null;
  const read = await parseStored(content.manifest);
  return !isAdopted(read) && isPiece(read) ? read : null;
}

/** Returns the newest piece of each node, and the facts that tell whether more pieces are to come. */
async function readStep({ db }: Pick<Hub, "db">, rows: readonly Checkpoint[], at: StepOf): Promise<PiecesOfStep> {
  const newest = new Map<number, Checkpoint>();
  for (const row of rows) {
    const rank = pieceOfRow(row)?.rank;
    if (rank !== undefined) newest.set(rank, row);
  }
  const pieces: PieceManifest[] = [];
  for (const { id } of newest.values()) {
    const read = await readManifest(db, id);
    if (read !== null) pieces.push(read);
  }
  const { run, writerEpoch, step } = at;
  const later = await db.checkpoint.findMany({
    where: {
      run,
      writerEpoch,
      step: { gt: step },
      state: { in: ["complete", "joined"] },
      piece: { contains: '"rank"' },
    },
    select: { piece: true },
    take: 4_096,
  });
  const members = await db.epochMember.findMany({
    where: { run, epoch: writerEpoch },
    include: { node: { select: { name: true } } },
  });
  return {
    pieces,
    pastRanks: new Set(later.flatMap((row) => pieceOfRow(row)?.rank ?? [])),
    nodeNames: new Map(members.map(({ rank, node }) => [rank, node.name])),
  };
}

/** Joins one step if all its pieces are complete; otherwise notes on each what is missing. @throws Fault those of the store */
async function joinStep(hub: Hub, at: StepOf): Promise<void> {
  const { run, writerEpoch, step } = at;
  await hub.locks.run(`join ${run} ${writerEpoch} ${step}`, async () => {
    const rows = await hub.db.checkpoint.findMany({
      where: { run, writerEpoch, step, role: null, ...openOnes },
      orderBy: { committedAt: "asc" },
    });
    if (rows.length === 0) return;
    const found = await readStep(hub, rows, at);
    const why = whyNotJoined(found);
    const manifest = why === null ? joinPieces(found.pieces, nameOf(found)) : null;
    const said = why ?? (manifest === null ? "a file of one node has the name of a folder of another" : null);
    if (manifest !== null) return record(hub, { manifest, rows });
    const ids = rows.map(({ id }) => id);
    await hub.db.checkpoint.updateMany({ where: { id: { in: ids } }, data: { doubt: said } });
    emit(hub, null, ["checkpoints", "runs"]);
  });
}

const ID_HEX = 32;
const ATTEMPT_HEX = 20;

function nameOf({ pieces }: PiecesOfStep) {
  const ids = pieces.map(({ id, attempt }) => `${id} ${attempt}`).toSorted();
  const hash = hashOf(`joined ${ids.join("\n")}`);
  return { id: hash.slice(0, ID_HEX), attempt: attemptId.parse(hash.slice(-ATTEMPT_HEX)) };
}

/** Writes the joined manifest into the bucket, then records it. @throws Fault those of the store */
async function record(
  hub: Hub,
  { manifest, rows }: { manifest: Manifest; rows: readonly Checkpoint[] },
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const { bucket, prefix, profileId } = first;
  const { text, sha256 } = storedTextOf(manifest);
  const store = await hub.stores.open(profileId);
  const key = await writeManifest(store, manifest, { bucket, prefix, text });
  const { id, run, step, writerEpoch, attempt, node } = manifest;
  const now = new Date(hub.now());
  const event = await hub.db.$transaction(async (tx) => {
    const attemptRow = { run, attempt, writerEpoch, nodeId: node.id, announcedAt: now };
    await tx.attempt.upsert({ where: { run_attempt: { run, attempt } }, update: {}, create: attemptRow });
    await tx.checkpoint.create({
      data: {
        id,
        run,
        step: BigInt(step),
        writerEpoch,
        attempt,
        nodeId: node.id,
        profileId,
        bucket,
        prefix,
        state: "complete",
        framework: manifest.framework,
        place: placeToStore(manifest.place),
        piece: pieceToStore(manifest),
        metrics: JSON.stringify(manifest.metrics),
        fileCount: manifest.files.length,
        sizeBytes: BigInt(manifest.sizeBytes),
        capturedAt: new Date(manifest.capturedAt),
        announcedAt: now,
        committedAt: now,
        manifestKey: key,
        manifestSha256: sha256,
        ...weighObjects(manifest.files, text),
        content: {
          create: {
            files: JSON.stringify(manifest.files.map(({ path, sizeBytes }) => ({ path, sizeBytes }))),
            manifest: text,
          },
        },
      },
    });
    await tx.checkpoint.updateMany({
      where: { id: { in: rows.map((row) => row.id) } },
      data: { state: "joined", joinedId: id },
    });
    const many = `${manifest.joined?.pieces.length ?? 0} nodes`;
    const line = `${stepText(step)} of ${run} is whole: joined from the pieces of ${many} (${formatBytes(manifest.sizeBytes)} in ${bucket})`;
    return recordEvent(tx, { at: now.getTime(), kind: "checkpoint-safe", work: "safe", node, run, step, text: line });
  });
  hub.live.totals = { ...hub.live.totals, checkpointsComplete: hub.live.totals.checkpointsComplete - rows.length + 1 };
  emit(hub, event, ["checkpoints", "runs", "profiles"]);
}

/**
 * Joins the step of a completed piece, and earlier steps that no longer wait for another node. @throws Fault those of the
 * store
 */
export async function joinAfter(hub: Hub, at: { run: string; writerEpoch: number; step: number }): Promise<void> {
  const { run, writerEpoch } = at;
  const step = BigInt(at.step);
  await joinStep(hub, { run, writerEpoch, step });
  for (const earlier of await openSteps(hub, { run, writerEpoch, step: { lt: step } })) await joinStep(hub, earlier);
}

/** Joins steps that a killed hub left open, or that a rebuild has restored. @throws Fault those of the store */
export async function joinOpen(hub: Hub, run: string): Promise<void> {
  for (const open of await openSteps(hub, { run })) await joinStep(hub, open);
}

const MOST_OPEN = 16;

/** Returns the newest steps with pieces that are not joined. */
async function openSteps(
  { db }: Pick<Hub, "db">,
  where: { run: string; writerEpoch?: number; step?: { lt: bigint } },
): Promise<(StepOf & Pick<Checkpoint, "doubt">)[]> {
  return db.checkpoint.findMany({
    where: { ...where, role: null, ...openOnes },
    distinct: ["writerEpoch", "step"],
    orderBy: [{ writerEpoch: "desc" }, { step: "desc" }],
    take: MOST_OPEN,
    select: { run: true, writerEpoch: true, step: true, doubt: true },
  });
}

/** Returns the steps of the newest epoch that lack pieces, newest first, with what is missing. */
export async function readOpenPieces(hub: Pick<Hub, "db">, run: string): Promise<OpenPieces[]> {
  const rows = await openSteps(hub, { run });
  const newest = rows[0]?.writerEpoch;
  return rows
    .filter(({ writerEpoch }) => writerEpoch === newest)
    .map(({ step, doubt }) => ({ step: Number(step), why: doubt ?? "" }));
}
