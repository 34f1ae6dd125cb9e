import type { OpenedReader, SqlReader } from "#prisma/sql-reader.ts";
import { numberIn, textIn } from "./read-cell.ts";
import type { TransferSums } from "../../api/ports/history-questions.ts";

const DAY_MS = 86_400_000;
const OF_PROFILE = `"nodeId" IN (SELECT "id" FROM "Node" WHERE "profileId" = ?)`;

export async function sumTransfers(
  client: SqlReader,
  { profileId, since }: { profileId: string; since: number },
  day: OpenedReader["day"],
): Promise<TransferSums> {
  // The index is on `createdAt`: a week more finds the transfers that began before `since` and ended after it.
  const days = await client.execute({
    sql: `SELECT ${day('"endedAt"')}, SUM("sentBytes") FROM "Transfer"
      WHERE "direction" = 'upload' AND "createdAt" >= ? AND "endedAt" >= ? AND ${OF_PROFILE} GROUP BY 1`,
    args: [new Date(since - 7 * DAY_MS), new Date(since), profileId],
  });
  const moved = await client.execute({
    sql: `SELECT "direction", SUM("sentBytes") FROM "Transfer" WHERE "createdAt" >= ? AND ${OF_PROFILE} GROUP BY 1`,
    args: [new Date(since), profileId],
  });
  return {
    days: days.rows.map((row) => ({ day: numberIn(row[0]), bytes: numberIn(row[1]) })),
    moved: moved.rows.map((row) => ({ direction: textIn(row[0]), bytes: numberIn(row[1]) })),
  };
}
