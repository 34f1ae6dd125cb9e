import { linesOf } from "#protocol/checkpoint/folder-lines.ts";
import { pathWithRoot, stepSourceOf, stepWords } from "#protocol/checkpoint/step-words.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { visibleText } from "../_ui/text/visible-text.ts";

/** Lists the folders of a run's checkpoints when there are several, the one that is trained now first. */
export function FolderLines({ checkpoints }: { checkpoints: readonly CheckpointRow[] }) {
  const placed = checkpoints.flatMap(({ place, role, state, step, capturedAt }) =>
    place === null || role !== null || state !== "complete"
      ? []
      : [{ path: pathWithRoot(place), stepFrom: stepSourceOf(place), step, at: capturedAt }],
  );
  const lines = linesOf(placed);
  if (lines.length < 2) return null;
  return (
    <ul aria-label="Lines" className="flex flex-col gap-1">
      {lines.map(({ folder, step, stepFrom }, at) => (
        <li key={folder} className="flex flex-wrap items-baseline gap-x-2">
          <span className="min-w-0 font-mono text-12 break-all">
            {folder === "" ? "the watched folder" : visibleText(folder)}
          </span>
          <span className="nums text-soft">{stepWords(step, stepFrom)}</span>
          <span className="text-12 text-faint">{at === 0 ? "trained now" : "an earlier line"}</span>
        </li>
      ))}
    </ul>
  );
}
