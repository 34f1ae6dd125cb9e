import { watchedAt, type InWatched } from "#protocol/wire/restore-places.ts";
import type { RestorePlan } from "#protocol/wire/views.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

const PLACES = [
  { id: "apart", label: "Outside training folders" },
  { id: "training", label: "Training folder" },
];

interface TargetOffersProps {
  plan: RestorePlan;
  targetPath: string;
  /** Number of chosen nodes. */
  nodes: number;
  /** Whether each of several nodes uses its own restore folder. */
  isOwn: boolean;
  /** Called with a path; null selects the default. */
  onChange: (path: string | null) => void;
}

/** Offers the default place and the training folder, and explains a target in a watched folder. */
export function TargetOffers({ plan, targetPath, nodes, isOwn, onChange }: TargetOffersProps) {
  const { trainingPath, suggestedPath, watched } = plan;
  const met = watchedAt(targetPath, watched);
  const offered = trainingPath === null || trainingPath === suggestedPath ? null : watchedAt(trainingPath, watched);
  return (
    <div className="flex flex-col gap-1.5 py-1.5 sm:pl-36">
      {offered !== null && (
        <div className="flex flex-wrap items-center gap-2">
          <FilterWords
            label="Place"
            words={PLACES}
            value={targetPath === suggestedPath ? "apart" : targetPath === trainingPath ? "training" : ""}
            onChange={(place) => onChange(place === "training" ? trainingPath : null)}
          />
          {met === null && (
            <span className="min-w-0 text-faint">
              {visibleText(`In the training folder: ${meetingWords(offered).join("; ")}`)}
            </span>
          )}
        </div>
      )}
      {nodes > 1 && (
        <p className="text-soft">
          {isOwn
            ? "Each node uses its own folder for restores; the path shown is the first node's."
            : `This path is used on all ${formatCount(nodes)} nodes.`}
        </p>
      )}
      {met !== null && (
        <Banner tone="risk" title={visibleText(`This folder is watched for ${met.run}.`)}>
          {visibleText(`${meetingWords(met).join("; ")}. ${rotationWords(met)}`)}
        </Banner>
      )}
    </div>
  );
}

/** Warns that a trainer that keeps only its last checkpoints may delete the restored one, and when. */
const rotationWords = ({ intervalMs }: InWatched): string =>
  `A trainer that keeps its last checkpoints only may remove it when it writes the next one${
    intervalMs === null ? "" : `, within ${formatDuration(intervalMs)}`
  }.`;

const meetingWords = ({ run, isTraining, name }: InWatched): string[] => [
  isTraining ? `${run} is training here` : `${run} is watched here`,
  `replaces ${name} if it is there`,
];
