import { extentSums, type AdoptionView } from "#protocol/checkpoint/adopted.ts";
import { VERDICTS } from "#protocol/recognition/recognise.ts";
import type { Adoption } from "#prisma/client/client.ts";
import { readStored } from "#server/platform/stored-json.ts";

/** Returns how an external checkpoint was registered, for display. */
export function adoptionView(row: Adoption): AdoptionView {
  const sums = readStored(row.sums, extentSums);
  return {
    place: row.place,
    verdict: VERDICTS.find((one) => one === row.verdict) ?? "unknown",
    reason: row.reason,
    adoptedAt: row.adoptedAt.getTime(),
    adoptedBy: row.adoptedBy,
    summed:
      sums === null || row.summedAt === null
        ? null
        : {
            at: row.summedAt.getTime(),
            by: row.summedBy ?? "",
            files: sums.filter((own) => own !== null).length,
          },
  };
}
