import type { AdoptionView } from "#protocol/checkpoint/adopted.ts";
import { formatCount } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

/** Says whether checksums verify an adopted checkpoint, or only its sizes and ETags. */
export function SummedWords({ adoption, fileCount }: { adoption: AdoptionView; fileCount: number }) {
  const { summed } = adoption;
  if (summed === null)
    return (
      <>
        not verified yet: every object is pinned to its size and ETag; the first restore takes checksums, and later ones
        are held to them
      </>
    );
  return (
    <>
      checksums of {summed.files === fileCount ? "all" : `${formatCount(summed.files)} of ${formatCount(fileCount)}`}{" "}
      files were taken by {visibleText(summed.by)} <Age at={summed.at} />; restores are held to them
    </>
  );
}
