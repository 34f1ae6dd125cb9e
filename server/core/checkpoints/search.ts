import type * as z from "zod";
import { MOST_FOUND, type FoundCheckpoint, type searchCheckpointsInput } from "#protocol/wire/checkpoint-pages.ts";
import type { CheckpointState } from "#protocol/checkpoint/checkpoint.ts";
import { matchWords } from "#protocol/base/match-words.ts";
import { step as parseStep } from "#protocol/base/names.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import type { Hub } from "../api/hub.ts";

/** States that a search finds: neither the trash nor joined pieces. */
const STATES: CheckpointState[] = ["complete", "uploading", "torn"];
/** Runs, and tags, that are matched against the words. */
const MOST_NAMED = 5_000;
/** The best matches among them that are searched. */
const MOST_FITTING = 50;

/** Returns the step in the words, and the remaining words, which name its run. Null without a step. */
export function readStepWords(words: string): { step: bigint; of: string } | null {
  const all = words.replaceAll("@", " ").split(/\s+/);
  const numbers = all.map((word) => (/^(step-?)?\d[\d,]*$/i.test(word) ? Number(word.replaceAll(/\D/g, "")) : null));
  const at = numbers.findLastIndex((number) => number !== null);
  const { success, data } = parseStep.safeParse(numbers[at]);
  if (!success) return null;
  const of = all.filter((word, index) => index !== at && !/^step$/i.test(word)).join(" ");
  return { step: BigInt(data), of: of.trim() };
}

/** Returns the names that match best. */
const fitting = (names: readonly string[], words: string): string[] =>
  names
    .map((name) => ({ name, score: matchWords(name, words) }))
    .filter(({ score }) => score !== null)
    .sort((a, b) => (b.score ?? 0) - (a.score ?? 0))
    .slice(0, MOST_FITTING)
    .map(({ name }) => name);

const foundOf = (row: Checkpoint, tag: string | null): FoundCheckpoint => ({
  id: row.id,
  run: row.run,
  step: Number(row.step),
  state: row.state as CheckpointState,
  tag,
  capturedAt: row.capturedAt.getTime(),
});

async function findSteps(db: Hub["db"], words: string): Promise<FoundCheckpoint[]> {
  const read = readStepWords(words);
  if (read === null) return [];
  const runs =
    read.of === ""
      ? null
      : fitting(
          (await db.run.findMany({ select: { name: true }, orderBy: { createdAt: "desc" }, take: MOST_NAMED })).map(
            ({ name }) => name,
          ),
          read.of,
        );
  const rows = await db.checkpoint.findMany({
    where: { step: read.step, state: { in: STATES }, ...(runs === null ? {} : { run: { in: runs } }) },
    orderBy: { capturedAt: "desc" },
    take: MOST_FOUND,
  });
  return rows.map((row) => foundOf(row, null));
}

async function findTags(db: Hub["db"], words: string): Promise<FoundCheckpoint[]> {
  const held = { kind: "tag", endedById: null };
  const known = await db.keepRecord.groupBy({ by: ["text"], where: held, orderBy: { text: "asc" }, take: MOST_NAMED });
  const tags = fitting(
    known.map(({ text }) => text),
    words,
  );
  if (tags.length === 0) return [];
  const records = await db.keepRecord.findMany({
    where: { ...held, text: { in: tags } },
    orderBy: { at: "desc" },
    take: MOST_FOUND,
  });
  const ids = records.map(({ checkpointId }) => checkpointId);
  const rows = await db.checkpoint.findMany({ where: { id: { in: ids }, state: { in: STATES } } });
  return records.flatMap(({ checkpointId, text }) => {
    const row = rows.find(({ id }) => id === checkpointId);
    return row === undefined ? [] : [foundOf(row, text)];
  });
}

/** Finds checkpoints of all runs by step or tag, newest first. An index on steps answers a search for a step alone. */
export async function searchCheckpoints(
  { db }: Pick<Hub, "db">,
  { words }: z.infer<typeof searchCheckpointsInput>,
): Promise<FoundCheckpoint[]> {
  const asked = words.trim();
  if (asked === "") return [];
  return [...(await findSteps(db, asked)), ...(await findTags(db, asked))].slice(0, MOST_FOUND);
}
