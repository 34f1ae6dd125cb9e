import { pathWithRoot, stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import { linesOf } from "#protocol/checkpoint/folder-lines.ts";
import type { NodeLine } from "#protocol/wire/views.ts";
import { doubtfulAfter, doubtfulFinal, newestComplete } from "../runs/newest.ts";
import { findPassedOver } from "../runs/passed-over.ts";
import { placeOfRow } from "../runs/place-of-row.ts";
import type { Hub } from "../api/hub.ts";
import { readNode } from "../nodes/list.ts";

/** At most this many runs of a node are looked up. */
const MOST_RUNS = 16;
/** The newest checkpoints per run that are read. */
const MOST_LOOKED_AT = 32;

/**
 * Returns for each run of a node the subfolder of the watched one that holds its newest checkpoint, as far as places are
 * known, and a later checkpoint or a final model that is doubtful. @throws Fault NOT_FOUND
 */
export async function readLines(hub: Hub, id: string): Promise<NodeLine[]> {
  const { runs } = readNode(hub, id);
  const found: NodeLine[] = [];
  for (const { run } of runs.slice(0, MOST_RUNS)) {
    const rows = await hub.db.checkpoint.findMany({
      where: { run, nodeId: id, state: "complete", role: null, place: { not: null } },
      orderBy: [{ writerEpoch: "desc" }, { step: "desc" }],
      take: MOST_LOOKED_AT,
      select: { step: true, place: true, capturedAt: true },
    });
    const [line, ...earlier] = linesOf(
      rows.flatMap((row) => {
        const place = placeOfRow(row);
        return place === null
          ? []
          : [
              {
                path: pathWithRoot(place),
                stepFrom: stepSourceOf(place),
                step: Number(row.step),
                at: row.capturedAt.getTime(),
              },
            ];
      }),
    );
    const doubtful = await doubtfulAfter(hub.db, run, await newestComplete(hub.db, run));
    const isFinalDoubtful = (await doubtfulFinal(hub.db, run)) !== null;
    const passedOverStep = (await findPassedOver(hub.db, run)).at(-1)?.given.step ?? null;
    if (line === undefined && doubtful === null && !isFinalDoubtful && passedOverStep === null) continue;
    const doubtfulStep = doubtful === null ? null : Number(doubtful.step);
    const told = { doubtfulStep, isFinalDoubtful, passedOverStep };
    found.push({ run, folder: line?.folder ?? "", others: earlier.length, ...told });
  }
  return found;
}
